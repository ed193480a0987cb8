// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Output for GitHub Actions: workflow commands in a step's output (annotations), and Markdown for
// the step's summary. Names in documents are untrusted, so everything is escaped. Text from others
// is printed between stop-commands, so that no name can become a command.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands

#include <string>
#include <string_view>

#include "check/budget_check.h"

namespace elixir::report {

/// GitHub shows this many errors and warnings of a step. All further ones share the last one.
inline constexpr std::size_t kMostAnnotations = 10;

/// One `::error` per failed check, one `::warning` per check that is waived for lack of a baseline.
/// It points at the limit if that is in the budget document, otherwise at the checked document.
[[nodiscard]] std::string github_annotations(const check::CheckReport& report);

/// `text`, changed so that nothing in it can be a workflow command.
[[nodiscard]] std::string github_inert(std::string_view text);

/// Verdict, table and culprits as Markdown, at most 1 MiB.
[[nodiscard]] std::string github_summary(const check::CheckReport& report);

}  // namespace elixir::report
