// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// elixir-bench --run: a hardware profile that a run of elixir-train corrects.

#include <string>

#include "hardware/hardware_profile.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {

/// Its trace.json, and what its tasks are.
struct RunToLearnFrom {
  std::string directory;
  std::string plan, profile;  ///< paths
};

/// The hardware profile at `path`, corrected (schedule/correct/corrected.h). Prints what has
/// changed. Throws Errors of the files, kBadFlagValue where one is missing, kPlanOfAnotherProgram
/// and kJsonBadValue where they do not belong together.
[[nodiscard]] hardware::HardwareProfile correct_by_run(const RunToLearnFrom& run,
                                                       const std::string& path,
                                                       Context& context);

}  // namespace elixir::tools
