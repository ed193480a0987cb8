// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/cuda_architectures.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace elixir::capture {
namespace {

/// For the wheel torch 2.11.0+cu130: torch._C._cuda_getArchFlags() returns "sm_75 sm_80 sm_86 sm_90
/// sm_100 sm_120", no PTX (a test compares). Such code runs on its own compute capability, and on
/// higher ones with the same major number: 8.6 serves 8.7, 8.8 and 8.9, 10.0 serves 10.3, 12.0
/// serves 12.1.
constexpr std::array kRunsOn{75, 80, 86, 87, 88, 89, 90, 100, 103, 120, 121};

}  // namespace

void check_target(const program::Target& target) {
  if (target.kind != program::Target::Kind::kCuda) return;
  if (std::find(kRunsOn.begin(), kRunsOn.end(), target.sm) != kRunsOn.end()) return;
  throw Error(ErrorCode::kWrongTarget, "LibTorch 2.11 has no kernels for {}", target.text())
      .help("targets that it runs on: cuda:sm_{}", fmt::join(kRunsOn, ", cuda:sm_"));
}

}  // namespace elixir::capture
