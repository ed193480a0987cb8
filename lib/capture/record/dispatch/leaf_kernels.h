// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Some operators have both a decomposition and kernels for some devices. LibTorch decomposes them
// above autograd for every device without a kernel, which includes meta. To record them as one
// call, this registers a Meta kernel that is never run.

#include <memory>

#include "program/program.h"

namespace torch {
class Library;
}

namespace elixir::capture {

/// While it lives, operators for which the target has kernels are leaves on meta.
class LeafKernels {
 public:
  explicit LeafKernels(const program::Target& target);
  ~LeafKernels();
  LeafKernels(const LeafKernels&) = delete;
  LeafKernels& operator=(const LeafKernels&) = delete;

 private:
  std::unique_ptr<torch::Library> library_;
};

}  // namespace elixir::capture
