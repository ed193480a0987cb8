// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Measures this machine: runs registered measurements and operators of programs into one hardware
// profile.

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
  /// Measurements by name; nullopt: all of them.
  std::optional<std::vector<std::string>> only;
  std::vector<const program::Program*> programs;  ///< whose operators are measured
  /// Figures are added to this one, which must be of this machine.
  std::optional<hardware::HardwareProfile> into;
  DeviceChoice device = DeviceChoice::kAuto;
  Effort effort = Effort::kFull;
  std::string name;  ///< of the profile; empty: "cpu", or the GPU's short name
  /// Measured by `disk`; without one that is waived: nobody expects large files.
  std::optional<std::string> disk_directory;
  /// Host memory that may be used; nullopt: what this process may have.
  std::optional<std::int64_t> host_memory_bytes;
  Progress progress;
};

struct Outcome {
  hardware::HardwareProfile profile;
  bool interrupted =
      false;  ///< stopped early; what was finished is in the profile, the rest is waived
  std::vector<SampleSeries> samples;  ///< behind every figure, in the order of measuring
};

/// Fails before anything runs when a name is unknown. kBadFlagValue.
void check_names(const std::vector<std::string>& names);

/// kOutputUnwritable when `disk_directory` cannot be written, kNoGpu when CUDA is asked for and
/// there is none, kWrongMachineKind when `into` is of another machine.
[[nodiscard]] Outcome measure(const Request& request);

}  // namespace elixir::measure
