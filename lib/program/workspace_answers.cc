// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/workspace_answers.h"

namespace elixir::program {

WorkspaceAnswers merged(const WorkspaceAnswers& known, const WorkspaceAnswers& better) {
  WorkspaceAnswers all = better;
  const std::size_t of_better = all.bytes.size();
  all.bytes.insert(known.bytes.begin(), known.bytes.end());
  if (all.bytes.size() == of_better) return all;
  all.measured = known.measured && better.measured;
  if (known.source != better.source) all.source += ", " + known.source;
  return all;
}

std::int64_t read_workspace_bytes(const JsonCursor& cursor) {
  const std::int64_t bytes = cursor.non_negative();
  if (bytes > kMostWorkspaceBytes) {
    throw cursor.error(
        ErrorCode::kJsonBadValue, "a workspace of {} bytes is larger than any GPU", bytes);
  }
  return bytes;
}

Json to_json(const WorkspaceAnswers& answers) {
  Json queries = Json::array();
  for (const auto& [query, bytes] : answers.bytes) {
    queries.push_back({{"query", query}, {"bytes", bytes}});
  }
  return {
      {"source", answers.source}, {"measured", answers.measured}, {"queries", std::move(queries)}};
}

WorkspaceAnswers read_workspace_answers(const JsonCursor& cursor) {
  cursor.only_keys({"source", "measured", "queries"});
  WorkspaceAnswers answers{.source = cursor.at("source").string(),
                           .measured = cursor.at("measured").boolean()};
  for (const JsonCursor& item : cursor.at("queries").items()) {
    item.only_keys({"query", "bytes"});
    const JsonCursor query = item.at("query");
    if (!answers.bytes.emplace(query.string(), read_workspace_bytes(item.at("bytes"))).second) {
      throw query.error(ErrorCode::kJsonBadValue, "this query is there twice");
    }
  }
  return answers;
}

}  // namespace elixir::program
