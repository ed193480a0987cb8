// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes the script of an update by torch.optim: what its tensors ask for, and on CUDA targets the
// scratch memory of its reductions.

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/scratch/call_script.h"
#include "operators/scratch/cuda_traits.h"
#include "program/program.h"

namespace elixir::memory {

/// Parameters of which something is updated, in order.
[[nodiscard]] std::vector<const program::Parameter*> updated_parameters(
    const program::Program& program);

struct ParametersOfDType {
  program::DType dtype;
  std::vector<const program::Parameter*> parameters;
};
/// The same, as foreach kernels take them: by dtype. Which dtype PyTorch takes first is not known;
/// here, it is the first to appear.
[[nodiscard]] std::vector<ParametersOfDType> updated_by_dtype(const program::Program& program);

class UpdateRequests {
 public:
  /// A guess where no GPU like the target was recorded.
  explicit UpdateRequests(const program::Target& target);

  int ask(std::int64_t bytes);
  /// -1 stands for nothing.
  void release(int temporary);
  /// CPython releases a list's items from the last to the first.
  void release_list(const std::vector<int>& temporaries);
  /// A result, while `input` is reduced over `dimensions` (empty: all) to it.
  int reduce(const program::TensorRef& input,
             const program::Ints& dimensions,
             std::int64_t result_bytes);
  /// `tensor.norm().item()`
  void read_norm(const program::TensorRef& tensor);

  [[nodiscard]] bool on_gpu() const { return traits_.has_value(); }
  /// From here on nobody knows whether PyTorch does it in this way.
  void guess() { script_.source = operators::ScriptSource::kModelled; }
  [[nodiscard]] operators::CallScript take();

 private:
  operators::CallScript script_{.steps = {}, .source = operators::ScriptSource::kExact};
  int count_ = 0;
  std::optional<operators::CudaTraits> traits_;
};

}  // namespace elixir::memory
