// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The choices of an elixir-profile run and their flags.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "memory/allocator/config.h"
#include "program/choices.h"
#include "program/program.h"
#include "tools/common/cli.h"

namespace elixir::tools {

struct ProfileOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::int64_t> batches;  ///< empty: as the inputs say
  program::Target target;
  program::Optimizer optimizer = program::Optimizer::kAdamW;
  program::Precision precision = program::Precision::kAsSaved;
  program::Mode mode = program::Mode::kAsSaved;
  std::string loss;
  std::optional<std::string> allocator;  ///< text of PYTORCH_ALLOC_CONF; CUDA targets alone
  std::int64_t gpus = 1;                 ///< that train together, a process each
  std::optional<std::int64_t> gpu_memory_bytes;
  std::optional<std::string> html, snapshot;
  std::optional<std::string> compare;  ///< an older profile
  bool measure = false;                ///< runs the step on this machine's GPU, too
};

void declare_profile_flags(Flags& flags, ProfileOptions& options);
/// Those among them that say what is captured.
void declare_step_flags(Flags& flags, ProfileOptions& options);
/// The command line that gives the same step.
[[nodiscard]] std::vector<std::string> step_arguments(const ProfileOptions& options);

/// Refuses what contradicts itself (kConflictingFlags, kBadFlagValue, kBadAllocatorConfig), before
/// any work.
/// `has_output`: -o was given.
void check_profile_options(const ProfileOptions& options, bool has_output);

/// kBadAllocatorConfig; kConflictingFlags for a target without such an allocator.
[[nodiscard]] memory::AllocatorConfig allocator_config(const ProfileOptions& options);

/// For the batch sizes as they are; kBadInputSpec.
[[nodiscard]] capture::Options capture_options(const ProfileOptions& options);

}  // namespace elixir::tools
