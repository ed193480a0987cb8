// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "adam_cases.h"

namespace elixir::benchmarks {

std::unique_ptr<Suite> make_cuda_suite(std::size_t, std::string& reason) {
  reason = "this build has no CUDA";
  return nullptr;
}

}  // namespace elixir::benchmarks
