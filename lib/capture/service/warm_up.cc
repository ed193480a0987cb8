// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <string>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/archive/model_state.h"
#include "capture/record/dispatch/meta_storage.h"
#include "capture/record/graph/script_operators.h"
#include "capture/service/service.h"

namespace elixir::capture {

void warm_up() {
  at::set_num_threads(1);
  at::set_num_interop_threads(1);
  install_meta_allocator();
  install_script_operators();
  // LibTorch seeds its generator from the system when it first draws.
  at::manual_seed(0);
  static_cast<void>(at::rand({2}));
  // Libraries look at the processor when they first compute; autograd starts its threads.
  for (const c10::Device device : {c10::Device(c10::kCPU), c10::Device(c10::kMeta)}) {
    const at::Tensor weight = at::ones({2, 2}, device).requires_grad_(true);
    at::matmul(at::ones({2, 2}, device), weight).sum().backward();
  }
  torch::jit::Module module("Warm");
  module.define("def forward(self, x):\n  return x + 1\n");
  static_cast<void>(module.forward({at::ones({1})}));
}

}  // namespace elixir::capture
