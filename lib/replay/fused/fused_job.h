// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: the operator elixir::fused (operators/own.h), on CPU and GPU. Here: what one call
// gives its kernel: steps, addresses and strides. A program document may hold any call, so all that
// is given is checked.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "operators/fused_program.h"

namespace elixir::replay {

/// A tensor over rows and columns.
struct FusedTensor {
  void* data = nullptr;
  c10::ScalarType dtype = c10::kFloat;
  std::vector<std::int64_t> row_strides;  ///< in elements, by dimension of the rows
  bool per_row = false;                   ///< one element for each row; else columns are dense

  [[nodiscard]] std::int64_t offset_of(std::int64_t row,
                                       const std::vector<std::int64_t>& row_sizes) const;
};

struct FusedJob {
  std::string text;
  std::shared_ptr<const operators::FusedProgram> program;
  bool sums = false;
  /// Dimensions of the rows, with as few as all tensors allow. Without sums, rows that follow each
  /// other are one.
  std::vector<std::int64_t> row_sizes;
  std::int64_t rows = 1, columns = 1;
  std::vector<FusedTensor> inputs, outputs;
  std::vector<std::int64_t> stored;  ///< by output: its step

  /// Throws c10::Error for steps that do not fit the tensors.
  [[nodiscard]] operators::FusedPasses passes() const;
};

/// The arguments of elixir::fused, and its new results, which are not filled.
struct FusedArguments {
  at::TensorList inputs, updated;
  at::IntArrayRef shape;
  const std::string& program;
  at::IntArrayRef stored, dtypes, strides;
};
/// Throws c10::Error for what does not fit.
[[nodiscard]] std::vector<at::Tensor> fused_results(const FusedArguments& arguments);
/// Throws c10::Error for what does not fit. The job is good as long as the tensors are.
[[nodiscard]] FusedJob fused_job(const FusedArguments& arguments,
                                 const std::vector<at::Tensor>& results);

}  // namespace elixir::replay
