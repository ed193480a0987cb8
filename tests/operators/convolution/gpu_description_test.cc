// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/gpu_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/files.h"
#include "core/shipped_data.h"
#include "fakes/error_of.h"

namespace elixir::operators {
namespace {

using ::testing::HasSubstr;

std::string shipped(int sm) {
  for (const std::filesystem::path& directory : profile_directories()) {
    const std::filesystem::path path = directory / "gpus" / ("sm_" + std::to_string(sm) + ".json");
    if (std::filesystem::exists(path)) return read_file(path.string());
  }
  ADD_FAILURE() << sm;
  return "{}";
}

int check(const std::string& text, std::optional<int> sm) {
  return check_gpu_description(*JsonDocument::parse(text, "gpu.json"), sm);
}

TEST(GpuDescription, ShippedOnesAreOfTheirTargets) {
  for (const int sm : {80, 89, 90, 100}) EXPECT_GT(check(shipped(sm), sm), 0) << sm;
  EXPECT_EQ(check(shipped(90), 90), 132);
}

TEST(GpuDescription, OfAnotherGpuIsRefused) {
  const ErrorInfo error = tests::error_of([] { static_cast<void>(check(shipped(80), 90)); });
  EXPECT_EQ(error.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error.where->file, "gpu.json");
  EXPECT_EQ(error.where->pointer, "/deviceVer");
  EXPECT_THAT(error.message, HasSubstr("800, and the target is cuda:sm_90"));
  EXPECT_THAT(error.help.at(0), HasSubstr("900"));
  EXPECT_EQ(check(shipped(80), std::nullopt), 108) << "the target is not known";
}

TEST(GpuDescription, CountsArePositive) {
  Json description = Json::parse(shipped(90));
  for (const Json& count : {Json(0), Json(-1), Json(1.5), Json("132"), Json(1ULL << 63U), Json()}) {
    description["multiProcessorCount"] = count;
    const ErrorInfo error =
        tests::error_of([&] { static_cast<void>(check(description.dump(), 90)); });
    EXPECT_EQ(error.code, ErrorCode::kJsonBadValue) << count;
    EXPECT_THAT(error.message, HasSubstr("`multiProcessorCount`")) << count;
  }
  for (const char* text : {"{}", "[]", "3", R"({"gpu": "H200"})"}) {
    EXPECT_EQ(tests::error_of([&] { static_cast<void>(check(text, 90)); }).code,
              ErrorCode::kJsonBadValue)
        << text;
  }
}

}  // namespace
}  // namespace elixir::operators
