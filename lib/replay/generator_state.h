// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The state of a device's random number generator, for calls that run again with the same random
// numbers. Neither reading nor setting the state waits for a GPU.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace elixir::replay {

/// A copy of the state of the device's default generator.
[[nodiscard]] at::Tensor generator_state(c10::Device device);

/// While it lives, the device's default generator continues from `state`. Afterwards it continues
/// from where it was.
class GeneratorScope {
 public:
  GeneratorScope(c10::Device device, const at::Tensor& state);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  c10::Device device_;
  at::Tensor before_;
};

}  // namespace elixir::replay
