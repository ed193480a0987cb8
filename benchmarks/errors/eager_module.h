// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A TorchScript module under LibTorch's eager autograd, in its own dtypes or wholly in fp64. An
// exported graph names dtypes (a loss in fp32, say), so converting the weights is not enough: every
// floating dtype in the graph becomes fp64 too.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

namespace elixir::errors {

enum class Dtypes : std::uint8_t { kAsSaved, kFloat64 };

struct Gradients {
  at::Tensor loss;
  std::map<std::string, at::Tensor> by_name;  ///< under each of a parameter's names
};

class EagerModule {
 public:
  /// Switches LibTorch's graph optimizer off in this process, so that operators run as written.
  EagerModule(const std::string& path, Dtypes dtypes, c10::Device device);

  /// The parameters and buffers. They are on the device.
  [[nodiscard]] const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }

  /// Forward and backward. Floating inputs are converted to fp64 where the module is.
  [[nodiscard]] Gradients run(const std::vector<at::Tensor>& inputs);

 private:
  Dtypes dtypes_;
  torch::jit::Module module_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace elixir::errors
