// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Maps launch failures. When the GPU refuses to launch a kernel, the device has failed (exit code
// 4); it is not a bug.

#include <string>

#include <c10/util/Exception.h>

#include "core/error.h"
#include "kernels/launch_failure.h"

namespace elixir::replay {

/// Runs `body`. Turns kernels::LaunchFailure (Elixir's kernels) and c10::AcceleratorError
/// (LibTorch's) into kDeviceFailure.
template <class Body>
void with_launch_errors(const Body& body) {
  try {
    body();
  } catch (const kernels::LaunchFailure& failure) {
    throw Error(ErrorCode::kDeviceFailure, failure.what());
  } catch (const c10::AcceleratorError& failure) {
    const std::string text = failure.what_without_backtrace();
    throw Error(ErrorCode::kDeviceFailure, text.substr(0, text.find('\n')));
  }
}

}  // namespace elixir::replay
