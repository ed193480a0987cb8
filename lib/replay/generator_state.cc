// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/generator_state.h"

#include <mutex>

#include <ATen/Context.h>

#include "replay/counting_allocator.h"

namespace elixir::replay {
namespace {

void set_generator_state(c10::Device device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state);
}

}  // namespace

at::Tensor generator_state(c10::Device device) {
  // A few kilobytes of host memory. They must not be charged to the device's account.
  const PauseCharging on_the_host;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

GeneratorScope::GeneratorScope(c10::Device device, const at::Tensor& state)
    : device_(device), before_(generator_state(device)) {
  set_generator_state(device, state);
}
GeneratorScope::~GeneratorScope() {
  set_generator_state(device_, before_);
}

}  // namespace elixir::replay
