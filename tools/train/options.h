// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// All options of an elixir-train run: from flags and, for a resumed run, from its config.json.
// Paths in a config are absolute, so that a run can be resumed from any directory.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "model/model_file.h"
#include "program/choices.h"
#include "tools/common/cli.h"

namespace elixir::tools {

struct TrainOptions {
  std::string plan, model;
  std::vector<std::string> data, eval_data;
  std::optional<std::string> data_format;
  std::string labels = "same";  ///< what a token stream provides as labels
  program::DeviceChoice device = program::DeviceChoice::kAuto;
  std::optional<std::string> resume;
  bool accept_changed_data = false;  ///< of a resumed run; config.json does not keep it

  std::int64_t steps = 100;
  double lr = 3e-4;
  std::string lr_schedule = "constant";
  std::int64_t warmup_steps = 0;
  std::vector<double> betas{0.9, 0.999};  ///< unless given, the second is the plan's
  double eps = 1e-8, weight_decay = 0.01, clip_norm = 1.0;
  std::string loss_scale = "dynamic";  ///< parse_loss_scale()
  std::vector<std::string> no_decay;
  std::int64_t seed = 0;
  bool deterministic = false;

  std::optional<std::int64_t> checkpoint_every;  ///< nullopt: at the end; 0: only on Ctrl-C
  std::int64_t keep = 2;
  std::optional<std::string> weights, export_path;
  /// The export of a resumed run's config, which no flag has confirmed. It is kept, and not
  /// written.
  std::optional<std::string> unconfirmed_export;
  bool init = false;
  std::int64_t eval_every = 0, eval_batches = 16;
  model::Isolation isolation;  ///< of the reading of the model; no part of a run's configuration
  bool dry_run = false;
  std::optional<std::int64_t> log_every;  ///< nullopt: about twenty lines; 0: none

  // How to capture the model. Must be as for elixir-profile.
  std::vector<std::string> inputs;
  std::optional<std::int64_t> batch;
  program::Mode mode = program::Mode::kAsSaved;
  std::string loss;

  // The plan decides these. A flag that contradicts it is an error.
  std::optional<program::Optimizer> optimizer;
  std::optional<program::Precision> precision;
  std::optional<std::int64_t> accumulation_steps;

  std::optional<std::string> hardware;
};

void declare_train_flags(Flags& flags, TrainOptions& options);

/// The flag of a key of config.json.
[[nodiscard]] std::string flag_of(std::string key);

/// Throws kBadFlagValue for a path that config.json cannot hold.
void check_paths(const TrainOptions& options);
/// The options as config.json keeps them, with absolute paths.
[[nodiscard]] Json to_json(const TrainOptions& options);

/// The options of a resumed run: those of its config, except flags that were `given` now and may
/// change (the plan, the steps, what is written and evaluated, and paths of files that moved).
/// Throws kConflictingFlags when any other option differs.
[[nodiscard]] TrainOptions resume_options(const TrainOptions& flags,
                                          const JsonCursor& saved,
                                          const std::function<bool(const std::string&)>& given);

}  // namespace elixir::tools
