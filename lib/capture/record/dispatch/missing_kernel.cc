// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/missing_kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>

#include "capture/record/dispatch/fallbacks.h"
#include "core/units.h"

namespace elixir::capture {
namespace {

constexpr std::int64_t kLargestTrial = 1_GiB;

}  // namespace

Error missing_kernels(const Session& session) {
  const std::vector<MissingKernel>& all = session.findings().missing();
  ErrorInfo info;
  info.code = ErrorCode::kMissingKernel;
  info.message = std::to_string(all.size()) +
                 (all.size() == 1 ? " operator has" : " operators have") +
                 " no geometry rule for target " + session.target().text();
  for (const MissingKernel& missing : all) {
    info.notes.push_back(missing.op + " in " + missing.place);
  }
  info.help.emplace_back("docs/adding-an-operator.md says how to add a rule");
  return Error(std::move(info));
}

void run_cpu_kernel_for_geometry(Session& session,
                                 const c10::OperatorHandle& op,
                                 const Values& arguments,
                                 torch::jit::Stack* stack) {
  const std::string& name = session.facts_of(op).name;
  Findings& findings = session.findings();
  const bool known = std::any_of(findings.missing().begin(),
                                 findings.missing().end(),
                                 [&](const auto& missing) { return missing.op == name; });
  if (!known) findings.add_missing(name, session.position().place());
  const auto give_up = [&] {
    Error error = missing_kernels(session);
    error.note("the capture ended at " + name + ": more may be missing after it");
    session.refuse(error);
  };

  std::int64_t bytes = 0;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      bytes += static_cast<std::int64_t>(tensor.storage().nbytes());
    });
  }
  if (bytes > kLargestTrial) give_up();

  const OutsideCapture outside;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<std::pair<at::Tensor, at::Tensor>> trials;  // real, meta
  torch::jit::Stack trial;
  for (const c10::IValue& value : arguments) {
    if (value.isDevice()) {
      trial.emplace_back(c10::Device(c10::kCPU));
      continue;
    }
    trial.push_back(map_tensors(value, [&](const at::Tensor& tensor) {
      at::Tensor real =
          at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kCPU));
      real.zero_();
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
        real.unsafeGetTensorImpl()->set_wrapped_number(true);
      }
      trials.emplace_back(real, tensor);
      return real;
    }));
  }
  try {
    op.callBoxed(&trial);
  } catch (const std::exception&) {
    give_up();
  }
  stack->resize(stack->size() - arguments.size());
  for (const c10::IValue& result : trial) {
    stack->push_back(map_tensors(result, [&](const at::Tensor& tensor) {
      for (const auto& [real, meta] : trials) {
        if (tensor.is_same(real)) return meta;
        if (tensor.storage().unsafeGetStorageImpl() == real.storage().unsafeGetStorageImpl()) {
          return at::as_strided(meta,
                                tensor.sizes(),
                                tensor.strides(),
                                meta.storage_offset() + tensor.storage_offset());
        }
      }
      return to_meta(tensor);
    }));
  }
}

}  // namespace elixir::capture
