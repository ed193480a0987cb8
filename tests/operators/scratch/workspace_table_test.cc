// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/workspace_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace elixir::operators {
namespace {

std::string document(const std::string& calls) {
  return R"({"schema": "elixir.workspaces", "schema_version": "1.0", "meta": {}, "target": "cuda:sm_90",
 "libraries": "cuDNN 9.19", "calls": [)" +
         calls + "]}";
}
operators::WorkspaceTable parse(const std::string& calls) {
  return operators::parse_workspace_table(*JsonDocument::parse(document(calls), "table.json"));
}

TEST(WorkspaceTable, ReadsScripts) {
  const operators::WorkspaceTable table = parse(R"({"key": "k", "script": "+16 o0 +1024 -1 -0"})");
  EXPECT_EQ(table.target, "cuda:sm_90");
  const auto& steps = table.calls.at("k");
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[0].bytes, 16);
  EXPECT_EQ(steps[1].kind, operators::RecordedStep::Kind::kOutput);
  EXPECT_EQ(steps[3].position, 1);
  EXPECT_TRUE(parse(R"({"key": "k", "script": ""})").calls.at("k").empty());
}

TEST(WorkspaceTable, RefusesScriptsThatMakeNoSense) {
  for (const char* script :
       {"o", "x1", "o0 o0", "+0", "-0", "+8 -0 -0", "+8 -1", "o-1", "+1x", "o0  o1"}) {
    try {
      parse(std::string(R"({"key": "k", "script": ")") + script + "\"}");
      ADD_FAILURE() << script;
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kJsonBadValue) << script;
    }
  }
}

TEST(WorkspaceTable, RefusesACallTwiceAndUnknownKeys) {
  EXPECT_THROW(parse(R"({"key": "k", "script": ""}, {"key": "k", "script": ""})"), Error);
  EXPECT_THROW(parse(R"({"key": "k", "script": "", "more": 1})"), Error);
}

TEST(WorkspaceTable, OneComesWithElixirForComputeCapability90) {
  const operators::WorkspaceTable table = operators::shipped_workspace_table(90);
  EXPECT_EQ(table.target, "cuda:sm_90");
  EXPECT_GT(table.calls.size(), 100U);
  EXPECT_TRUE(operators::shipped_workspace_table(12).calls.empty());
}

}  // namespace
}  // namespace elixir::operators
