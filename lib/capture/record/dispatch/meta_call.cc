// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/meta_call.h"

#include <algorithm>
#include <cstddef>

#include <c10/util/Exception.h>

#include "capture/record/arguments/call.h"
#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/boxed_call.h"
#include "capture/record/dispatch/fallbacks.h"
#include "capture/record/dispatch/missing_kernel.h"
#include "capture/record/refused/allowed_operators.h"
#include "capture/record/refused/real_calls.h"

namespace elixir::capture {
namespace {

using torch::jit::Stack;

/// What the arguments of a call say about where its results belong.
struct Wanted {
  bool has_tensor = false;
  bool has_meta = false;
  bool has_size = false;
  bool has_device = false;
  bool asks_for_meta = false;

  /// Data that is there, or scalars.
  [[nodiscard]] bool real() const {
    return !has_meta && !asks_for_meta && (has_tensor || !has_size);
  }
};

Wanted wanted_by(const Values& arguments, const OperatorFacts& facts, c10::Device target) {
  Wanted wanted;
  wanted.has_size = facts.factory_with_size;
  bool asks_for_target = false;
  at::ScalarType dtype = at::ScalarType::Undefined;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      wanted.has_tensor = true;
      wanted.has_meta |= tensor.is_meta();
      if (dtype == at::ScalarType::Undefined) dtype = tensor.scalar_type();
    });
    if (value.isDevice()) {
      wanted.has_device = true;
      wanted.asks_for_meta |= value.toDevice().is_meta();
      asks_for_target |= target.is_cuda() && value.toDevice().is_cuda();
    } else if (value.isIntList()) {
      wanted.has_size |= !value.toIntVector().empty();
    }
  }
  if (facts.dtype_argument && arguments[*facts.dtype_argument].isInt()) {
    dtype = arguments[*facts.dtype_argument].toScalarType();
  }
  // Floating point numbers that a CUDA target keeps on the device are not shape arithmetic: what is
  // made from them must be a device tensor too.
  wanted.asks_for_meta |= asks_for_target && at::isFloatingType(dtype);
  return wanted;
}

void name_device(Values& arguments, c10::DeviceType device) {
  for (c10::IValue& value : arguments) {
    if (value.isDevice()) value = c10::Device(device);
  }
}

void put_back(const Values& arguments, Stack& stack) {
  std::copy(arguments.begin(), arguments.end(), stack.end() - std::ptrdiff_t(arguments.size()));
}

/// Tensors that are one, or of different sizes, are compared without a look at their values.
bool compared_by_geometry(const OperatorFacts& facts, const Call& call) {
  return facts.name == "aten::equal" &&
         known_equal(call.tensor("self"), call.tensor("other")).has_value();
}

/// Every tensor on meta. A constant that is read beside step data belongs on the device.
void move_to_meta(Session& session, const c10::OperatorHandle& op, Values& arguments) {
  const OperatorFacts& facts = session.facts_of(op);
  name_device(arguments, c10::kMeta);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = op.schema().arguments()[i].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    arguments[i] = map_tensors(arguments[i], [&](const at::Tensor& tensor) {
      if (tensor.is_meta()) return tensor;
      if (written) {
        session.refuse(Error(ErrorCode::kUnsupportedModel,
                             "{} in {} writes step data into a constant of the module",
                             facts.name,
                             session.position().place())
                           .help("register the tensor as a buffer"));
      }
      if (tensor.dim() > 0 && !facts.copies) session.recorder().used_on_device(tensor);
      return to_meta(tensor);
    });
  }
}

/// LibTorch's own kernel for meta tensors; factories still need BackendSelect.
void run_meta_kernel(const c10::OperatorHandle& op,
                     c10::DispatchKeySet keys,
                     bool has_tensor,
                     const Values& arguments,
                     Stack* stack) {
  put_back(arguments, *stack);
  op.redispatchBoxed(
      has_tensor ? c10::DispatchKeySet(c10::DispatchKey::Meta) : after(keys, kRecordKey), stack);
}

}  // namespace

void run_on_meta(Session& session,
                 const c10::OperatorHandle& op,
                 c10::DispatchKeySet keys,
                 Stack* stack) {
  const OperatorFacts& facts = session.facts_of(op);
  Values arguments = arguments_of(op, *stack).vec();
  const Wanted wanted = wanted_by(arguments, facts, session.device());
  if (wanted.real()) {
    if (wanted.has_device) {
      name_device(arguments, c10::kCPU);
      put_back(arguments, *stack);
    }
    if (!may_compute_constants(op)) {
      session.refuse(refused_on_real_data(facts.name, session.position().place()));
    }
    // What the kernel allocates for itself must have data, too.
    const OutsideCapture outside;
    op.redispatchBoxed(after(keys, kRecordKey), stack);
    clear_uninitialised(op, *stack);
    return;
  }
  if (facts.reads_data && !compared_by_geometry(facts, Call(op.schema(), arguments))) {
    session.refuse_data_dependent(facts.name);
  }
  move_to_meta(session, op, arguments);
  const std::size_t base = stack->size() - arguments.size();
  try {
    if (facts.geometry.rule != nullptr) {
      const OutsideCapture outside;
      replace_by_results(
          op, *stack, apply(facts.geometry, session.target(), Call(op.schema(), arguments)));
    } else {
      run_meta_kernel(op, keys, wanted.has_tensor, arguments, stack);
    }
  } catch (const c10::NotImplementedError&) {
    stack->resize(base);
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    run_cpu_kernel_for_geometry(session, op, arguments, stack);
  }
}

}  // namespace elixir::capture
