// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The operations of tasks on a CUDA stream. Every call only enqueues.

#include <memory>

#include "runtime/device/stream_operations.h"
#include "runtime/ranks/device_communicator.h"

namespace elixir::runtime {

/// On `stream` of the current GPU. `ranks` for collective operations, which fail without it; it
/// must outlive the result.
[[nodiscard]] std::unique_ptr<StreamOperations> make_cuda_operations(
    DeviceCommunicator::Stream stream, DeviceCommunicator* ranks = nullptr);

}  // namespace elixir::runtime
