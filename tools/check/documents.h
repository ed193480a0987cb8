// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What elixir-check reads: documents in any order, told apart by their schema, and the baseline of
// each.

#include <optional>
#include <string>
#include <vector>

#include "check/budget.h"
#include "check/budget_check.h"

namespace elixir::tools {

struct CheckInputs {
  std::optional<check::Budget> budget;
  std::vector<check::CheckedDocument> documents;  ///< in the order given
};

/// Profiles and plans, and a budget at most. kWrongSchema for other documents, kConflictingFlags
/// for a second budget or a file given twice, kMissingArgument without a profile or plan; and
/// whatever reading them finds.
[[nodiscard]] CheckInputs read_documents(const std::vector<std::string>& paths);

/// The baseline at `where.path` for `document`: that document, or in a directory the one of the
/// same file name. nullopt when the directory has none, or when it is of the other kind and meant
/// for another of `sharers` (the checked documents for which `where` holds). Errors say why a
/// baseline does not go with its document: another kind, another target, one for several.
[[nodiscard]] std::optional<check::CheckedDocument> read_baseline(
    const check::BaselinePath& where,
    const check::CheckedDocument& document,
    const std::vector<const check::CheckedDocument*>& sharers);

}  // namespace elixir::tools
