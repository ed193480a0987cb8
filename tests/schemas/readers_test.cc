// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The C++ readers agree with schemas/: they accept every valid example, and refuse every invalid
// one with an error that names the file and the place. check_schemas.py tests the same for the
// schemas themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check/budget.h"
#include "core/error.h"
#include "hardware/hardware_profile.h"
#include "plan/plan.h"
#include "program/document.h"

namespace elixir {
namespace {

using Reader = std::function<void(const std::string& path)>;

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> instance{
      {"budget", [](const std::string& path) { static_cast<void>(check::load_budget(path)); }},
      {"hardware",
       [](const std::string& path) { static_cast<void>(hardware::load_hardware(path)); }},
      {"plan", [](const std::string& path) { static_cast<void>(plan::load_plan(path)); }},
      {"profile", [](const std::string& path) { static_cast<void>(program::load_profile(path)); }},
  };
  return instance;
}

std::vector<std::string> examples(const std::string& kind, const std::string& schema) {
  const char* root = std::getenv("ELIXIR_SCHEMAS");
  std::vector<std::string> paths;
  if (root == nullptr) {
    ADD_FAILURE() << "ELIXIR_SCHEMAS is not set";
    return paths;
  }
  const std::filesystem::path directory = std::filesystem::path(root) / "examples" / kind;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().stem().string();
    if (name.substr(0, name.find('-')) == schema) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_FALSE(paths.empty()) << schema << " has no " << kind << " example";
  return paths;
}

TEST(Readers, AcceptValidExamples) {
  for (const auto& [schema, read] : readers()) {
    for (const std::string& path : examples("valid", schema)) EXPECT_NO_THROW(read(path)) << path;
  }
}

TEST(Readers, RefuseInvalidExamplesAndNameThePlace) {
  for (const auto& [schema, read] : readers()) {
    for (const std::string& path : examples("invalid", schema)) {
      try {
        read(path);
        ADD_FAILURE() << path << " was accepted";
      } catch (const Error& error) {
        EXPECT_EQ(exit_code_of(error.info().code), 2) << error.what();
        ASSERT_TRUE(error.info().where) << error.what();
        EXPECT_EQ(error.info().where->file, path);
        EXPECT_TRUE(error.info().where->line || error.info().where->byte_offset) << error.what();
      }
    }
  }
}

TEST(Readers, RefuseDocumentsOfAnotherKind) {
  for (const auto& [schema, read] : readers()) {
    for (const auto& [other, ignored] : readers()) {
      if (other == schema) continue;
      const std::string path = examples("valid", other).front();
      try {
        read(path);
        ADD_FAILURE() << schema << " accepted " << path;
      } catch (const Error& error) {
        EXPECT_EQ(error.info().code, ErrorCode::kWrongSchema) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace elixir
