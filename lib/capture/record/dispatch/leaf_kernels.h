// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Operators that have both a decomposition and kernels for some devices: LibTorch decomposes them
// above autograd for every device without a kernel, meta among them. A Meta kernel that is never
// run makes them one call on meta too.

#include <memory>

#include "program/program.h"

namespace torch {
class Library;
}

namespace elixir::capture {

/// While it lives, operators that the target has kernels for are leaves on meta.
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
