// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A kernel that the GPU refuses to launch is a failure of the device (exit code 4), not a bug.

#include "core/error.h"
#include "kernels/launch_failure.h"

namespace elixir::runtime {

/// Runs `body`; kernels::LaunchFailure becomes kDeviceFailure.
template <class Body>
void with_launch_errors(const Body& body) {
  try {
    body();
  } catch (const kernels::LaunchFailure& failure) {
    throw Error(ErrorCode::kDeviceFailure, failure.what());
  }
}

}  // namespace elixir::runtime
