// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Time and workspace of every distinct operator call of a program, on real tensors rebuilt from the
// recorded arguments. Storages that arguments share stay shared; parameters are read from memory,
// not from the caches, as in a training step; integers are valid indices; what a call writes is
// restored before the next sample.

#include <functional>
#include <string_view>

#include "hardware/hardware_profile.h"
#include "measure/measurement.h"
#include "program/program.h"

namespace elixir::measure {

/// Fraction done and what is being done.
using Progress = std::function<void(double, std::string_view)>;

/// Whether kernels are timed one by one on the GPU; when not, that is waived with the reason in
/// `bench.no_kernel_timer`, and events time the calls.
[[nodiscard]] bool use_kernel_timer(const Bench& bench, hardware::HardwareProfile& profile);

/// kProfileTargetMismatch when the program is of another target than the device.
void check_target(const program::Program& program,
                  const Bench& bench,
                  const hardware::HardwareProfile& profile);

/// Adds to `profile.operators`, or replaces there, every call that a replay of `program` executes.
/// A call that fails on synthetic data is waived with its reason. kProfileTargetMismatch when the
/// program is of another target than the device.
void measure_operators(const program::Program& program,
                       const Bench& bench,
                       hardware::HardwareProfile& profile,
                       const Progress& progress);

}  // namespace elixir::measure
