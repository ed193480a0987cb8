// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What GitHub Actions reads: workflow commands in a step's output (annotations), and Markdown for
// the step's summary. Names in documents are untrusted: everything is escaped, and text that is not
// ours is printed between stop-commands, so that no name can become a command.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands

#include <string>
#include <string_view>

#include "check/budget_check.h"

namespace elixir::report {

/// GitHub shows so many errors and warnings of a step; what is beyond shares the last one.
inline constexpr std::size_t kMostAnnotations = 10;

/// One `::error` a failed check, one `::warning` a check waived for want of a baseline. It points
/// at the limit in the budget document when that is where the limit is, else at the checked
/// document.
[[nodiscard]] std::string github_annotations(const check::CheckReport& report);

/// `text` such that nothing in it is taken for a workflow command.
[[nodiscard]] std::string github_inert(std::string_view text);

/// check::Verdict, table and culprits as Markdown, at most 1 MiB.
[[nodiscard]] std::string github_summary(const check::CheckReport& report);

}  // namespace elixir::report
