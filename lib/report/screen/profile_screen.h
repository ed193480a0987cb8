// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/report/screen: what the tools print for people, a file for each screen or part of one.
//
// The screen of elixir-profile: what one training step takes, where its peak is and what makes it.
// Every number is explained in docs/memory-report.md.

#include <string>

#include "memory/step/training_step.h"
#include "program/document.h"
#include "report/terminal/terminal.h"
#include "search/recomputation_savings.h"

namespace elixir::report {

/// `step` and `savings` must be made from `profile`'s program and optimizer. On a terminal, no line
/// is wider than the terminal. Elsewhere, names are not shortened.
[[nodiscard]] std::string profile_screen(const program::Profile& profile,
                                         const memory::TrainingStep& step,
                                         const search::RecomputationSavings& savings,
                                         const Style& style);

/// Which input `--loss` uses as the label: "loss: cross-entropy of the output and input `labels`,
/// the last of 2: it is the label\n".
[[nodiscard]] std::string loss_line(const program::Program& program, const std::string& loss);

}  // namespace elixir::report
