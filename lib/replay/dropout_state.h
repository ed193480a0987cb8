// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The generators that cuDNN's recurrent layers draw their dropout from. They are the process's and
// no value of a program: calls share them in the order in which they run, as LibTorch's own do, and
// whoever seeds a device's generator has to say so here.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace elixir::replay {

/// The state for dropout with `probability` on a CUDA device. Made anew by the first call after
/// `reset_cudnn_dropout_state`, with a seed drawn from the device's generator, which waits for the
/// GPU. Exceptions of LibTorch pass through.
[[nodiscard]] at::Tensor cudnn_dropout_state(double probability, c10::Device device);

/// After a device's generator was seeded: LibTorch makes its state anew then.
void reset_cudnn_dropout_state();

}  // namespace elixir::replay
