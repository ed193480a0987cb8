// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The options of an elixir-profile run, and their flags.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator/config.h"
#include "model/model_file.h"
#include "program/choices.h"
#include "program/program.h"
#include "tools/common/cli.h"

namespace elixir::tools {

struct ProfileOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::int64_t> batches;  ///< empty: from the inputs
  program::Target target;
  program::Optimizer optimizer = program::Optimizer::kAdamW;
  program::OptimizerForm optimizer_form = program::OptimizerForm::kElixir;
  double clip_norm = 0;  ///< 0: off
  [[nodiscard]] program::OptimizerUse optimizer_use() const {
    return {optimizer, optimizer_form, clip_norm > 0};
  }
  program::Precision precision = program::Precision::kAsSaved;
  program::Mode mode = program::Mode::kAsSaved;
  std::string loss;
  std::optional<std::string> allocator;  ///< text of PYTORCH_ALLOC_CONF; only for CUDA targets
  std::string cudnn = "auto";            ///< or "none": cuDNN is not asked about convolutions
  std::int64_t gpus = 1;                 ///< that train together, one process each
  std::optional<std::int64_t> gpu_memory_bytes;
  std::optional<std::string> html, snapshot;
  std::optional<std::string> compare;  ///< an older profile
  model::Isolation isolation;
  bool measure = false;  ///< also runs the step on this machine's GPU
};

void declare_profile_flags(Flags& flags, ProfileOptions& options);
/// The subset of flags that defines what is captured.
void declare_step_flags(Flags& flags, ProfileOptions& options);
/// The command line that gives the same step.
[[nodiscard]] std::vector<std::string> step_arguments(const ProfileOptions& options);

/// Refuses contradictory options (kConflictingFlags, kBadFlagValue, kBadAllocatorConfig). Call it
/// before any work. `has_output`: -o was given.
void check_profile_options(const ProfileOptions& options, bool has_output);

/// Throws kBadAllocatorConfig; kConflictingFlags for a target without such an allocator.
[[nodiscard]] memory::AllocatorConfig allocator_config(const ProfileOptions& options);

/// For the batch sizes of the inputs. Throws kBadInputSpec.
[[nodiscard]] model::Options capture_options(const ProfileOptions& options);

}  // namespace elixir::tools
