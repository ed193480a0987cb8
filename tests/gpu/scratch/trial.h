// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs random calls of one operator below autograd, as a replay does, and compares what each call
// asks of the allocator with its script. The script is made as a profile makes it: the call becomes
// a program of one operator. On the CPU, calls run and get the labels that an H200 would give them,
// and nothing is compared.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>

#include "capture/random_arguments.h"
#include "gpu/scratch/evidence.h"
#include "operators/scratch/call_script.h"

namespace elixir::tests {

/// An operator with a way to draw its arguments.
struct Subject {
  std::string op;  ///< "aten::add.Tensor"
  c10::OperatorHandle handle;
  std::function<capture::Values(capture::Random&)> draw;
};

/// Every operator that a capture covers or that has a label of its own, sorted by name.
[[nodiscard]] std::vector<Subject> subjects();

/// The device that calls run on, and what is predicted for it.
class Bench {
 public:
  explicit Bench(c10::Device device);

  [[nodiscard]] const capture::RandomSpace& space() const { return space_; }
  [[nodiscard]] bool on_cuda() const { return space_.device.is_cuda(); }
  /// What an H200 is asked for where calls run on the CPU.
  [[nodiscard]] operators::CallScript script(program::Program program) const;
  [[nodiscard]] const program::Target& target() const { return target_; }
  /// Waits for the device. Throws when a call has broken it.
  void wait() const;

 private:
  capture::RandomSpace space_;
  program::Target target_, predicted_;
  operators::WorkspaceTable table_;
};

/// Adds one call with the arguments of `seed`. Returns false when the device is lost; then the
/// evidence says so, and this process can do no more.
[[nodiscard]] bool try_call(const Subject& subject,
                            const Bench& bench,
                            std::uint64_t seed,
                            Evidence& evidence);

}  // namespace elixir::tests
