// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/conforming_batch.h"

#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"

namespace elixir::runtime {
namespace {

/// `tensor` with the layout that the program requires.
at::Tensor conform(const at::Tensor& tensor, const program::Input& input) {
  const program::TensorRef& ref = input.tensor;
  if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.sizes().equals(ref.sizes) ||
      tensor.scalar_type() != capture::scalar_type(ref.dtype)) {
    throw Error(ErrorCode::kDataMismatch,
                "input {} must be {}[{}] on the CPU",
                input.name,
                program::name_of(ref.dtype),
                fmt::join(ref.sizes, ", "));
  }
  if (tensor.strides().equals(ref.strides)) return tensor;
  at::Tensor laid_out = at::empty_strided(ref.sizes, ref.strides, tensor.options());
  laid_out.copy_(tensor);
  return laid_out;
}

}  // namespace

MicroBatches conforming(const MicroBatches& batch,
                        const program::Program& program,
                        std::size_t inputs,
                        std::size_t micro_batches) {
  if (batch.size() != micro_batches) {
    throw Error(ErrorCode::kDataMismatch,
                "{} micro-batches given, the plan has {}",
                batch.size(),
                micro_batches);
  }
  MicroBatches conformed;
  for (const std::vector<at::Tensor>& micro_batch : batch) {
    if (micro_batch.size() != inputs) {
      throw Error(ErrorCode::kDataMismatch,
                  "{} inputs given, the program has {}",
                  micro_batch.size(),
                  inputs);
    }
    std::vector<at::Tensor>& tensors = conformed.emplace_back();
    for (std::size_t i = 0; i < micro_batch.size(); ++i) {
      tensors.push_back(conform(micro_batch[i], program.inputs[i]));
    }
  }
  return conformed;
}

}  // namespace elixir::runtime
