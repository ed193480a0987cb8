// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The GPU's own times for the kernels, copies and fills of some work (CUPTI's activity records).
// They include neither launch time nor gaps.

#include <functional>
#include <optional>
#include <string>

namespace elixir::measure {

/// The reason why kernels cannot be timed one by one, with the remedy; nullopt when they can. A
/// build without CUPTI returns a reason.
[[nodiscard]] std::optional<std::string> kernel_timer_unavailable();

/// GPU seconds of `work`: the sum over its kernels, copies and fills, which run one after another
/// on one stream. Waits for the end. Throws kMissingFeature, kDeviceFailure.
[[nodiscard]] double gpu_kernel_seconds(const std::function<void()>& work);

}  // namespace elixir::measure
