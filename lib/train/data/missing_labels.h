// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A micro-batch whose targets the loss ignores, all of them. The mean over no labels is NaN, which
// no learning rate changes.

#include <optional>
#include <string>

#include "program/program.h"
#include "train/data/dataset.h"

namespace elixir::train {

/// "all targets in `labels` are -100, which the loss ignores"; nullopt where some target counts, or
/// where the model makes targets that the data does not show.
[[nodiscard]] std::optional<std::string> missing_labels(const program::Program& program,
                                                        const BatchInputs& micro_batch);

}  // namespace elixir::train
