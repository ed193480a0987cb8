// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the GPU itself says about the kernels, copies and fills of some work (CUPTI's activity
// records): time on the GPU without launching and without gaps.

#include <functional>
#include <optional>
#include <string>

namespace elixir::measure {

/// Why kernels cannot be timed one by one, with the remedy; nullopt when they can. A build without
/// CUPTI says so.
[[nodiscard]] std::optional<std::string> kernel_timer_unavailable();

/// Seconds that the GPU worked for `work`, whose end is waited for: the sum over its kernels,
/// copies and fills, which run one after another on one stream. kMissingFeature, kDeviceFailure.
[[nodiscard]] double gpu_kernel_seconds(const std::function<void()>& work);

}  // namespace elixir::measure
