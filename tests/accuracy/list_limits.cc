// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Prints as JSON whether three steps of a profile's program fit under limits for the allocator's
// reserved memory, for limits.py. Limits are percentages of the predicted reserved peak.
//
// usage: list_limits DEVICE_BYTES MODEL.profile.json PERCENT...
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "core/json.h"
#include "memory/step/training_memory.h"
#include "program/document.h"

namespace {

constexpr int kSteps = 3;

elixir::Json limits_of(const std::string& profile_path,
                       std::int64_t device_bytes,
                       int count,
                       char** percentages) {
  using namespace elixir::memory;
  using namespace elixir::operators;
  const elixir::program::Profile profile = elixir::program::load_profile(profile_path);
  const elixir::program::Program& program = profile.program;
  const auto scripts = call_scripts(
      program, cuda_traits(program.target), shipped_workspace_table(program.target.sm));
  const TrainingEvents events = training_events(program, profile.optimizer, scripts, kSteps);
  const std::int64_t reserved =
      simulate_training(events, {}, {.total_bytes = device_bytes}).peak_reserved_bytes;
  elixir::Json limits = elixir::Json::object();
  for (int i = 0; i < count; ++i) {
    constexpr double kWhole = 100.0;
    const double percent = std::stod(percentages[i]);
    const auto bytes = static_cast<std::int64_t>(static_cast<double>(reserved) * percent / kWhole);
    const TrainingMemory memory =
        simulate_training(events, {}, {.total_bytes = device_bytes, .allowed_bytes = bytes});
    limits[percentages[i]] = {{"bytes", bytes}, {"fits", !memory.shortage.has_value()}};
  }
  return {{"reserved_bytes", reserved}, {"limits", limits}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: list_limits DEVICE_BYTES MODEL.profile.json PERCENT...\n", stderr);
    return 2;
  }
  try {
    const elixir::Json limits = limits_of(argv[2], std::stoll(argv[1]), argc - 3, argv + 3);
    std::printf("%s\n", limits.dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
