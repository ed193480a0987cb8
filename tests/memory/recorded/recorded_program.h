// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A recorded run: its captured program, what is predicted of it, and what it requested from the
// allocator. ELIXIR_PROGRAMS and ELIXIR_TRACES name the directories of NAME.profile.json and
// NAME.trace.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files.h"
#include "memory/recorded/trace.h"
#include "memory/step/training_events.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/cuda_traits.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"

namespace elixir::memory {

inline constexpr int kRecordedSteps = 3;

inline std::filesystem::path directory_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}
inline std::filesystem::path programs_directory() {
  return directory_in("ELIXIR_PROGRAMS");
}

/// Sorted.
inline std::vector<std::string> recorded_program_names() {
  std::vector<std::string> names;
  const std::string_view suffix = ".profile.json";
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(programs_directory(), missing)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct RecordedProgram {
  program::Profile profile;
  std::vector<operators::CallScript> scripts;
  TrainingEvents predicted;
  RecordedTrace recorded;
};

inline RecordedProgram read_recorded_program(const std::string& name) {
  RecordedProgram read;
  read.profile = program::load_profile((programs_directory() / (name + ".profile.json")).string());
  const program::Program& program = read.profile.program;
  read.scripts = operators::call_scripts(program,
                                         operators::cuda_traits(program.target),
                                         operators::shipped_workspace_table(program.target.sm));
  read.predicted = training_events(program, read.profile.optimizer, read.scripts, kRecordedSteps);
  const std::string trace = (directory_in("ELIXIR_TRACES") / (name + ".trace")).string();
  read.recorded = read_recorded_trace(read_file(trace), trace);
  return read;
}

}  // namespace elixir::memory
