// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/workspace_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "fakes/error_of.h"

namespace elixir::operators {
namespace {

std::string document(const std::string& calls) {
  return R"({"schema": "elixir.workspaces", "schema_version": "1.0", "meta": {},
 "target": "cuda:sm_90", "libraries": "cuDNN 9.19", "calls": [)" +
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

/// A directory of shipped data that has one table, for sm_90.
class ShippedTable : public ::testing::Test {
 protected:
  ShippedTable() {
    std::filesystem::create_directories(directory_ / "workspaces");
    ::setenv("ELIXIR_PROFILES", directory_.c_str(), 1);
  }
  ~ShippedTable() override {
    ::unsetenv("ELIXIR_PROFILES");
    std::filesystem::remove_all(directory_);
  }
  ShippedTable(const ShippedTable&) = delete;
  ShippedTable& operator=(const ShippedTable&) = delete;

  [[nodiscard]] WorkspaceTable table_where(const std::string& from, const std::string& to) const {
    std::string text = document("");
    text.replace(text.find(from), from.size(), to);
    write_file((directory_ / "workspaces/sm_90.json").string(), text, Overwrite::kAllow);
    return shipped_workspace_table(90);
  }

 private:
  std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / fmt::format("tables-{}", ::getpid());
};

TEST_F(ShippedTable, OfAnotherGpuIsRefused) {
  const ErrorInfo error =
      tests::error_of([&] { static_cast<void>(table_where("cuda:sm_90", "cuda:sm_80")); });
  EXPECT_EQ(error.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error.where->pointer, "/target");
  EXPECT_THAT(error.message, ::testing::HasSubstr("cuda:sm_80"));
}

TEST_F(ShippedTable, OfOtherLibrariesIsKnownAsThat) {
  EXPECT_FALSE(table_where("cuDNN 9.19", "LibTorch 2.10, cuDNN 9.1").is_of_predicted_libraries());
  EXPECT_TRUE(
      table_where("cuDNN 9.19", std::string(kPredictedLibraries)).is_of_predicted_libraries());
  const ErrorInfo error =
      tests::error_of([&] { static_cast<void>(table_where("cuDNN 9.19", "")); });
  EXPECT_EQ(error.where->pointer, "/libraries");
}

TEST(WorkspaceTable, RefusesWorkspacesThatNoGpuHas) {
  const auto queries = [](const char* bytes) {
    std::string text = document("");
    text.insert(text.rfind('}'),
                std::string(R"(, "queries": [{"query": "q", "bytes": )") + bytes + "}]");
    return parse_workspace_table(*JsonDocument::parse(text, "table.json")).queries.size();
  };
  EXPECT_EQ(queries("1099511627776"), 1U);
  for (const char* bytes : {"1099511627777", "4611686018427387904", "9223372036854775808", "-1"}) {
    EXPECT_THROW(static_cast<void>(queries(bytes)), Error) << bytes;
  }
}

TEST(WorkspaceTable, OneComesWithElixirForComputeCapability90) {
  const operators::WorkspaceTable table = operators::shipped_workspace_table(90);
  EXPECT_EQ(table.target, "cuda:sm_90");
  EXPECT_GT(table.calls.size(), 100U);
  EXPECT_TRUE(table.is_of_predicted_libraries());
  EXPECT_TRUE(operators::shipped_workspace_table(12).calls.empty());
}

}  // namespace
}  // namespace elixir::operators
