// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads the documents for elixir-check, in any order. Their schema tells their kind. Also finds the
// baseline of each.

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

/// Reads profiles and plans, and at most one budget. Throws kWrongSchema for other documents,
/// kConflictingFlags for a second budget or a file given twice, kMissingArgument without a profile
/// or plan, and the errors of reading them.
[[nodiscard]] CheckInputs read_documents(const std::vector<std::string>& paths);

/// The baseline for `document` at `where.path`: that document, or in a directory the one with the
/// same file name. nullopt when the directory has none, or when it is of the other kind and belongs
/// to another of `sharers` (the checked documents to which `where` applies). Errors say why a
/// baseline does not match its document: another kind, another target, or one baseline for several
/// documents.
[[nodiscard]] std::optional<check::CheckedDocument> read_baseline(
    const check::BaselinePath& where,
    const check::CheckedDocument& document,
    const std::vector<const check::CheckedDocument*>& sharers);

}  // namespace elixir::tools
