// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/check/documents.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/file_error.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "plan/plan.h"
#include "program/document.h"

namespace elixir::tools {
namespace {

using check::CheckedDocument;

/// Reads a profile or a plan; nullopt for a budget.
std::optional<CheckedDocument> read_document(const std::string& path) {
  throw_if_interrupted();
  const std::optional<std::string> schema = schema_of(path);
  if (schema == "elixir.budget") return std::nullopt;
  if (schema == "elixir.profile") {
    return check::checked_document(path, program::load_profile(path));
  }
  if (schema == "elixir.plan") return check::checked_document(path, plan::load_plan(path));
  // Reports broken JSON first.
  const auto document = JsonDocument::load(path);
  const JsonCursor root = document->root();
  const JsonCursor at = schema ? root.at("schema") : root;
  throw at
      .error(ErrorCode::kWrongSchema,
             schema ? fmt::format("documents of schema `{}` cannot be checked", *schema)
                    : std::string("not an Elixir document: it has no `schema`"))
      .help("give profiles (elixir-profile), plans (elixir-search) and a budget");
}

}  // namespace

CheckInputs read_documents(const std::vector<std::string>& paths) {
  CheckInputs inputs;
  std::string budget_path;
  std::vector<std::string> seen;
  for (const std::string& path : paths) {
    if (std::find(seen.begin(), seen.end(), path) != seen.end()) {
      throw Error(ErrorCode::kConflictingFlags, "`{}` is given twice", path).help("give it once");
    }
    seen.push_back(path);
    if (auto document = read_document(path)) {
      inputs.documents.push_back(std::move(*document));
      continue;
    }
    if (inputs.budget) {
      throw Error(ErrorCode::kConflictingFlags, "`{}` and `{}` are both budgets", budget_path, path)
          .help("give one; `models` in it changes limits by file name");
    }
    inputs.budget = check::load_budget(path);
    budget_path = path;
  }
  if (inputs.documents.empty()) {
    throw Error(ErrorCode::kMissingArgument, "there is no profile or plan to check")
        .help("elixir-check BUDGET.json MODEL.profile.json")
        .help("elixir-profile MODEL.pt makes a profile");
  }
  return inputs;
}

std::optional<CheckedDocument> read_baseline(const check::BaselinePath& where,
                                             const CheckedDocument& document,
                                             const std::vector<const CheckedDocument*>& sharers) {
  namespace stdfs = std::filesystem;
  std::string path = where.path;
  std::error_code ignored;
  const bool in_directory = stdfs::is_directory(path, ignored);
  if (in_directory) {
    path = (stdfs::path(path) / stdfs::path(document.path).filename()).string();
    if (!stdfs::exists(path, ignored)) return std::nullopt;
  }
  auto baseline = read_document(path);
  if (!baseline) {
    throw file_error(ErrorCode::kWrongSchema, path, "a budget cannot be a baseline")
        .help("give the older profile or plan of the same model");
  }
  const auto of_its_kind =
      std::count_if(sharers.begin(), sharers.end(), [&](const CheckedDocument* sharer) {
        return sharer->kind == baseline->kind;
      });
  if (baseline->kind != document.kind) {
    if (!in_directory && of_its_kind > 0) return std::nullopt;
    throw file_error(ErrorCode::kWrongSchema,
                     path,
                     "the baseline is a {}, `{}` is a {}",
                     name_of(baseline->kind),
                     document.path,
                     name_of(document.kind))
        .help("give the older {} of the same model", name_of(document.kind));
  }
  const bool same_name = stdfs::path(path).filename() == stdfs::path(document.path).filename();
  if (of_its_kind > 1 && !same_name) {
    throw file_error(ErrorCode::kConflictingFlags,
                     path,
                     "one baseline for {} {}s",
                     of_its_kind,
                     name_of(document.kind))
        .help("give a directory that has a baseline of each, by file name")
        .help("or give each its own under `models` in the budget");
  }
  const auto of_baseline = program::Target::parse(baseline->target);
  const auto of_document = program::Target::parse(document.target);
  if (!of_baseline || !of_document || !of_baseline->goes_with(*of_document)) {
    throw file_error(ErrorCode::kProfileTargetMismatch,
                     path,
                     "the baseline is for {}, `{}` for {}",
                     baseline->target,
                     document.path,
                     document.target)
        .help("make the baseline for target {}", document.target);
  }
  return baseline;
}

}  // namespace elixir::tools
