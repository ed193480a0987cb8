// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A module's buffers (PyTorch's word: tensors that are no parameters) on a device.

#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include "program/program.h"
#include "runtime/device/device.h"

namespace elixir::runtime {

/// By one of its names. It is a bug to ask for another.
[[nodiscard]] const program::Buffer& buffer_named(const program::Program& program,
                                                  const std::string& name);

/// A copy on the CPU. `storage` is the buffer's on the device.
[[nodiscard]] at::Tensor read_buffer(Device& device,
                                     const c10::Storage& storage,
                                     const program::Buffer& buffer);
/// Throws kWeightsMismatch when `value` has another shape, or values that an expanded buffer cannot
/// hold.
void write_buffer(Device& device,
                  const c10::Storage& storage,
                  const program::Buffer& buffer,
                  const at::Tensor& value);

}  // namespace elixir::runtime
