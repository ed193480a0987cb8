// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The profiled steps of one model at several batch sizes. Each is captured when it is first needed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator/config.h"
#include "memory/analysis/fit.h"
#include "memory/step/training_step.h"
#include "model/model_file.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"
#include "search/recomputation_savings.h"
#include "tools/common/run_tool.h"
#include "tools/profile/options.h"

namespace elixir::tools {

class Steps {
 public:
  /// Opens the model without capturing.
  Steps(const ProfileOptions& options, Context& context);

  struct Step {
    program::Profile profile;
    memory::TrainingStep prediction;
    std::vector<std::string> warnings;  ///< not about labels: those are in the profile
  };
  /// The step at a batch size (nullopt: from the inputs). Captures every time.
  [[nodiscard]] Step capture(std::optional<std::int64_t> batch);

  /// What recomputation can save in a step, with the shipped figures of its target.
  [[nodiscard]] search::RecomputationSavings savings(const Step& step) const;

  /// Dimension 0 of the first input; nullopt when it has none.
  static std::optional<std::int64_t> batch_of(const program::Program& program);

  /// Stores a step's peak, so that it need not be captured again.
  void remember(const program::Profile& profile);
  /// The best known peak at a batch size. Captures the step if its peak is not stored.
  [[nodiscard]] memory::BatchPeak peak_at(std::int64_t batch);
  [[nodiscard]] const std::map<std::int64_t, memory::BatchPeak>& known_peaks() const {
    return peaks_;
  }

 private:
  const ProfileOptions& options_;
  std::vector<std::string> argv_;
  memory::AllocatorConfig allocator_;
  operators::WorkspaceTable workspaces_;  // for CUDA targets
  model::Options wanted_;
  model::ModelFile model_;
  std::map<std::int64_t, memory::BatchPeak> peaks_;  // by batch size
};

}  // namespace elixir::tools
