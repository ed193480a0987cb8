// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The work of a task.

#include <cstddef>

#include "runtime/device/inline_function.h"
#include "runtime/device/stream_operations.h"

namespace elixir::runtime {

/// Room for the largest: an update of a piece, with its arrays twice.
inline constexpr std::size_t kTaskBodyBytes = 256;
using TaskBody = InlineFunction<void(StreamOperations&), kTaskBodyBytes>;

}  // namespace elixir::runtime
