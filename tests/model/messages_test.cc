// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "model/messages.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "fakes/error_of.h"

namespace elixir::model {
namespace {

using testing::HasSubstr;
using tests::error_of;

Opened example() {
  Opened opened;
  opened.state.push_back(
      {.names = {"a.weight", "b.weight"},
       .geometry =
           {.dtype = program::DType::kBFloat16, .sizes = {2, 3}, .strides = {3, 1}, .offset = 4},
       .storage_bytes = 20,
       .record = Record{.name = "data/0", .offset = 64, .bytes = 40, .checksum = 7},
       .first_byte = 20});
  opened.state.push_back(
      {.names = {"step"},
       .geometry = {.dtype = program::DType::kInt64, .sizes = {}, .strides = {}, .offset = 0},
       .storage_bytes = 8,
       .record = std::nullopt,
       .first_byte = 0});
  opened.recipe = "{}";
  return opened;
}

TEST(Messages, ComeBackAsTheyWere) {
  const Opened opened = read_opened(text_of(example()));
  ASSERT_EQ(opened.state.size(), 2U);
  EXPECT_THAT(opened.state[0].names, testing::ElementsAre("a.weight", "b.weight"));
  EXPECT_EQ(opened.state[0].geometry.dtype, program::DType::kBFloat16);
  EXPECT_THAT(opened.state[0].geometry.sizes, testing::ElementsAre(2, 3));
  EXPECT_EQ(opened.state[0].geometry.offset, 4);
  ASSERT_TRUE(opened.state[0].record);
  EXPECT_EQ(opened.state[0].record->checksum, 7U);
  EXPECT_EQ(opened.state[0].first_byte, 20U);
  EXPECT_FALSE(opened.state[1].record);
  EXPECT_EQ(opened.recipe, "{}");

  CaptureRequest asked;
  asked.options.target = *program::Target::parse("cpu:avx2");
  asked.options.inputs = {*InputSpec::parse("x:float32[2,3]")};
  asked.options.batch = 7;
  asked.options.precision = program::Precision::kBFloat16;
  asked.options.mode = program::Mode::kTrain;
  asked.options.loss = "mse";
  asked.options.backward = false;
  asked.with_constants = true;
  EXPECT_EQ(text_of(read_capture_request(text_of(asked))), text_of(asked));

  CaptureNotes notes;
  notes.warnings = {"one", "two"};
  notes.unattributed_operators = 3;
  notes.constants[5] = {.dtype = program::DType::kBool, .sizes = {4}, .strides = {1}, .offset = 0};
  EXPECT_EQ(text_of(read_capture_notes(text_of(notes))), text_of(notes));

  const ErrorInfo error{.code = ErrorCode::kDataDependent,
                        .message = "it depends",
                        .where = SourcePos{.file = "a.pt", .byte_offset = 12},
                        .notes = {"a note"},
                        .help = {"a way out"}};
  EXPECT_EQ(text_of(read_error(text_of(error))), text_of(error));
}

/// The answer with one value replaced.
std::string with(const char* pointer, const Json& value) {
  Json json = Json::parse(text_of(example()));
  json[Json::json_pointer(pointer)] = value;
  return json.dump();
}

TEST(Messages, OfAViewBeyondItsStorageAreRefused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [pointer, value] : std::initializer_list<std::pair<const char*, Json>>{
           {"/state/0/storage_bytes", 19},
           {"/state/0/geometry/offset", 5},
           {"/state/0/geometry/offset", kLargest},
           {"/state/0/geometry/sizes/0", 3},
           {"/state/0/geometry/sizes/0", kLargest},
           {"/state/0/geometry/strides/0", kLargest}}) {
    EXPECT_THAT(error_of([&, text = with(pointer, value)] {
                  static_cast<void>(read_opened(text));
                }).message,
                HasSubstr("beyond its storage"))
        << pointer << " = " << value;
  }
}

TEST(Messages, ThatAreNoneAreRefused) {
  for (const char* text : {"", "{", "[]", "{}", R"({"state":7,"recipe":null})"}) {
    EXPECT_NE(error_of([&] { static_cast<void>(read_opened(text)); }).code, ErrorCode::kInternal)
        << text;
  }
  for (const auto& [pointer, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/state/0/names", Json::array()},
                                                           {"/state/0/record/offset", -1},
                                                           {"/state/0/record/checksum", 1LL << 33},
                                                           {"/state/0/geometry/dtype", "float17"},
                                                           {"/state/0/geometry/strides", {1}},
                                                           {"/state/0/more", 1}}) {
    EXPECT_NE(error_of([&, text = with(pointer, value)] {
                static_cast<void>(read_opened(text));
              }).message,
              "")
        << pointer << " = " << value;
  }
}

TEST(Messages, OfErrorsAreThoseOfModelsAndShort) {
  const auto says = [](int code, const std::string& message) {
    return Json{{"code", code},
                {"message", message},
                {"where", nullptr},
                {"notes", Json::array()},
                {"help", Json::array()}}
        .dump();
  };
  EXPECT_EQ(read_error(says(311, "a")).code, ErrorCode::kUnsupportedModel);
  for (const int code : {0, -1, 300, 313, 601, 701, 901, 1 << 30}) {
    EXPECT_EQ(error_of([&] { static_cast<void>(read_error(says(code, "a"))); }).code,
              ErrorCode::kJsonBadValue)
        << code;
  }
  EXPECT_LT(read_error(says(311, std::string(1'000'000, 'a'))).message.size(), 10'000U);
}

}  // namespace
}  // namespace elixir::model
