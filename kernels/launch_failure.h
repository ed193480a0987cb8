// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Thrown by a CUDA launcher when the GPU refuses the launch. It is not a bug of Elixir, so the
// runtime turns it into a device failure.

#include <stdexcept>

namespace elixir::kernels {

class LaunchFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace elixir::kernels
