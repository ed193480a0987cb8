// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The generators from which cuDNN's recurrent layers draw their dropout. They belong to the process
// and are no value of a program. Calls share them in the order in which they run, as in LibTorch.
// Whoever seeds a device's generator must also call reset_cudnn_dropout_state().

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace elixir::replay {

/// The state for dropout with `probability` on a CUDA device. The first call after
/// `reset_cudnn_dropout_state` creates it with a seed from the device's generator, which waits for
/// the GPU. Exceptions of LibTorch pass through.
[[nodiscard]] at::Tensor cudnn_dropout_state(double probability, c10::Device device);

/// Call this after seeding a device's generator. LibTorch creates its state again in that case.
void reset_cudnn_dropout_state();

}  // namespace elixir::replay
