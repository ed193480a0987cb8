// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Texts about a run's data: what the labels are, how rows are drawn, the unit of the loss. If the
// labels repeat the inputs, a run looks perfect but learns nothing, so the user must be told before
// the first step.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "train/data/dataset.h"
#include "train/data/label_use.h"

namespace elixir::tools {

/// "`labels`: the token after each one of `input_ids`".
[[nodiscard]] std::string labels_text(const program::Program& program,
                                      const train::LabelUse& use,
                                      train::DataFormat format,
                                      train::Labels labels);

struct LabelWarning {
  std::string message;
  std::vector<std::string> help;
};
/// A warning when the labels of a token stream are not shifted at all, or twice.
[[nodiscard]] std::optional<LabelWarning> label_warning(const train::LabelUse& use,
                                                        train::DataFormat format,
                                                        train::Labels labels);

/// "each row begins at a random token, with replacement; 1,000 steps draw 2.5 times the data".
[[nodiscard]] std::string sampling_text(const train::Dataset& data,
                                        std::int64_t rows_per_step,
                                        std::int64_t steps);

/// " nats/token", to print after a loss; empty for samples.
[[nodiscard]] std::string loss_unit(const train::Dataset& data, train::DataFormat format);

}  // namespace elixir::tools
