// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "adam_cases.h"

namespace elixir::benchmarks {

std::unique_ptr<Suite> make_cuda_suite(std::size_t, std::string& reason) {
  reason = "this build has no CUDA";
  return nullptr;
}

std::size_t free_cuda_bytes() {
  return 0;
}

}  // namespace elixir::benchmarks
