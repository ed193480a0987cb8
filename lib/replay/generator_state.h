// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The state of a device's random number generator, for calls that run once more with the numbers of
// the first time. Neither reading nor setting it waits for a GPU.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace elixir::replay {

/// The state of the device's default generator, a copy.
[[nodiscard]] at::Tensor generator_state(c10::Device device);

/// While alive, the device's default generator goes on from `state`; afterwards from where it was.
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
