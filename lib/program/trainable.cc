// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/trainable.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "program/arguments/writes.h"
#include "program/names/labels.h"

namespace elixir::program {
namespace {

void refuse_dtypes(const Program& program) {
  for (const Parameter& parameter : program.parameters) {
    if (is_trainable(parameter)) continue;
    throw Error(ErrorCode::kUnsupportedModel,
                "parameters of dtype {} cannot be trained: `{}`",
                name_of(parameter.tensor.dtype),
                parameter.name)
        .help("export the model in float32 or bfloat16")
        .help("keep complex numbers as pairs of real ones (torch.view_as_complex in forward)");
  }
}

void refuse_writes(const Program& program) {
  std::map<StorageId, std::string> kept;
  for (const Parameter& parameter : program.parameters) {
    kept.emplace(parameter.tensor.storage, fmt::format("parameter `{}`", parameter.name));
  }
  for (const Input& input : program.inputs) {
    kept.emplace(input.tensor.storage, fmt::format("input `{}`", input.name));
  }
  for (const Operator& op : program.operators) {
    const auto refuse_if_kept = [&](const TensorRef& tensor) {
      const auto found = kept.find(tensor.storage);
      if (found == kept.end()) return;
      throw Error(ErrorCode::kUnsupportedModel, "{} writes {} in place", op.name, found->second)
          .note("in " + module_label(program, op))
          .help("let it work on a copy, as in x.clone()");
    };
    for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      if (tensor.version > 0) refuse_if_kept(tensor);
    });
    for (const TensorRef& tensor : unreturned_writes(op)) refuse_if_kept(tensor);
  }
}

}  // namespace

bool is_trainable(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

bool is_trainable(const Parameter& parameter) {
  const DType dtype = parameter.tensor.dtype;
  return parameter.gradient ? is_trainable(dtype) : !is_complex(dtype);
}

void refuse_untrainable(const Program& program) {
  refuse_dtypes(program);
  refuse_writes(program);
}

}  // namespace elixir::program
