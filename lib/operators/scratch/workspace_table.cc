// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/workspace_table.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/shipped_data.h"
#include "program/workspace_answers.h"

namespace elixir::operators {
namespace {

constexpr const char* kSchema = "elixir.workspaces";
constexpr int kSchemaMajor = 1;

/// Parses "o0 +1024 -0": outputs, temporaries, releases. The script must be consistent: each output
/// once, and releases only of temporaries that are held.
std::vector<RecordedStep> parse_script(const JsonCursor& value) {
  const std::string text = value.string();
  const auto bad = [&value](std::string_view word, std::string_view why) {
    throw value.error(ErrorCode::kJsonBadValue, "`{}` in a script of allocations {}", word, why)
        .help("steps are oN (output N), +BYTES and -N (release of the N-th +)");
  };
  std::vector<RecordedStep> steps;
  std::set<std::int64_t> outputs;
  std::vector<bool> held;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    at = end + 1;
    std::int64_t number = -1;
    const char* last = word.data() + word.size();
    if (word.size() < 2 || std::from_chars(word.data() + 1, last, number).ptr != last ||
        number < 0) {
      bad(word, "is no step");
    }
    switch (word.front()) {
      case 'o':
        if (!outputs.insert(number).second) bad(word, "is there twice");
        steps.push_back({RecordedStep::Kind::kOutput, 0, static_cast<int>(number)});
        break;
      case '+':
        if (number == 0) bad(word, "asks for nothing");
        held.push_back(true);
        steps.push_back({RecordedStep::Kind::kTemporary, number, 0});
        break;
      case '-':
        if (number >= static_cast<std::int64_t>(held.size()) ||
            !held[static_cast<std::size_t>(number)]) {
          bad(word, "releases what is not held");
        }
        held[static_cast<std::size_t>(number)] = false;
        steps.push_back({RecordedStep::Kind::kRelease, 0, static_cast<int>(number)});
        break;
      default:
        bad(word, "is no step");
    }
  }
  return steps;
}

}  // namespace

WorkspaceTable parse_workspace_table(const JsonDocument& document) {
  const JsonCursor root = document.root(kSchema, kSchemaMajor);
  root.only_keys({"schema", "schema_version", "meta", "target", "libraries", "calls", "queries"});
  WorkspaceTable table;
  table.target = root.at("target").string();
  table.libraries = root.at("libraries").string();
  if (table.libraries.empty()) {
    throw root.at("libraries")
        .error(ErrorCode::kJsonBadValue,
               "the table does not say which libraries it was recorded with")
        .help("like \"{}\"", kPredictedLibraries);
  }
  for (const JsonCursor& call : root.at("calls").items()) {
    call.only_keys({"key", "script"});
    const JsonCursor key = call.at("key");
    if (!table.calls.emplace(key.string(), parse_script(call.at("script"))).second) {
      throw key.error(ErrorCode::kJsonBadValue, "this call is there twice");
    }
  }
  if (!root.has("queries")) return table;
  for (const JsonCursor& item : root.at("queries").items()) {
    item.only_keys({"query", "bytes"});
    const JsonCursor query = item.at("query");
    const std::int64_t bytes = program::read_workspace_bytes(item.at("bytes"));
    if (!table.queries.emplace(query.string(), bytes).second) {
      throw query.error(ErrorCode::kJsonBadValue, "this query is there twice");
    }
  }
  return table;
}

WorkspaceTable shipped_workspace_table(int sm) {
  for (const std::filesystem::path& directory : profile_directories()) {
    const std::filesystem::path path = directory / "workspaces" / fmt::format("sm_{}.json", sm);
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
      const auto document = JsonDocument::load(path.string());
      WorkspaceTable table = parse_workspace_table(*document);
      const std::string target = fmt::format("cuda:sm_{}", sm);
      if (table.target != target) {
        throw document->root()
            .at("target")
            .error(
                ErrorCode::kJsonBadValue, "workspaces of {} do not go for {}", table.target, target)
            .help("put a table here that was recorded on {}, or remove the file", target);
      }
      return table;
    }
  }
  return {};
}

}  // namespace elixir::operators
