// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Measures time and workspace of every distinct operator call of a program, on real tensors rebuilt
// from the recorded arguments. Arguments that share a storage still share it. As in a training
// step, parameters are read from memory, not from caches. Integers are valid indices. What a call
// writes is restored before the next sample.

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "hardware/hardware_profile.h"
#include "measure/measurement.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::measure {

/// Receives the fraction done and a description of the current work.
using Progress = std::function<void(double, std::string_view)>;

/// Whether kernels are timed one by one on the GPU. If not, this is waived with the reason in
/// `bench.no_kernel_timer`, and events time the calls.
[[nodiscard]] bool use_kernel_timer(const Bench& bench, hardware::HardwareProfile& profile);

/// Throws kProfileTargetMismatch when the target of the program is not the device.
void check_target(const program::Program& program,
                  const Bench& bench,
                  const hardware::HardwareProfile& profile);

/// One call of `program` on the GPU, with the caches as the program leaves them. `by_kernels`: as
/// use_kernel_timer() says.
[[nodiscard]] hardware::OperatorTime measure_call_on_gpu(const program::Program& program,
                                                         const program::Lifetimes& lifetimes,
                                                         const program::Operator& op,
                                                         const Bench& bench,
                                                         bool by_kernels,
                                                         std::string key);

/// Adds or replaces in `profile.operators` every call that a replay of `program` executes and whose
/// key is not in `known`, and adds the keys to `known`. Waives a call that fails on synthetic data,
/// with the reason. Throws kProfileTargetMismatch when the target of the program is not the device.
void measure_operators(const program::Program& program,
                       const Bench& bench,
                       hardware::HardwareProfile& profile,
                       std::set<std::string>& known,
                       const Progress& progress);

}  // namespace elixir::measure
