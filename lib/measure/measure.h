// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Measures this machine. Runs registered measurements, and the operators of programs, into one
// hardware profile.

#include <optional>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "measure/measurement.h"
#include "measure/operators/operators.h"
#include "measure/sample_log.h"
#include "program/program.h"

namespace elixir::measure {

using program::DeviceChoice;

struct Request {
  /// Measurements by name; nullopt: all.
  std::optional<std::vector<std::string>> only;
  std::vector<const program::Program*> programs;  ///< their operators are measured, each once
  /// Adds the figures to this profile, which must be of this machine.
  std::optional<hardware::HardwareProfile> into;
  DeviceChoice device = DeviceChoice::kAuto;
  Effort effort = Effort::kFull;
  std::string name;  ///< of the profile; empty: "cpu" or the GPU's short name
  /// For the `disk` measurement. Without a directory it is waived, because it writes large files.
  std::optional<std::string> disk_directory;
  /// Host memory that may be used; nullopt: all that this process may use.
  std::optional<std::int64_t> host_memory_bytes;
  Progress progress;
};

struct Outcome {
  hardware::HardwareProfile profile;
  bool interrupted = false;           ///< finished figures are in the profile, the rest is waived
  std::vector<SampleSeries> samples;  ///< of every figure, in the order of measuring
};

/// Call it before anything runs. Throws kBadFlagValue when a name is unknown.
void check_names(const std::vector<std::string>& names);

/// Throws kOutputUnwritable when `disk_directory` cannot be written, kNoGpu when CUDA is requested
/// without a GPU, kWrongMachineKind when `into` is of another machine.
[[nodiscard]] Outcome measure(const Request& request);

}  // namespace elixir::measure
