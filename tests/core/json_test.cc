// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "core/files.h"
#include "fakes/error_of.h"

namespace elixir {
namespace {

using tests::error_of;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<const JsonDocument> parse(std::string text) {
  return JsonDocument::parse(std::move(text), "x.json");
}

ErrorInfo parse_error(const std::string& text) {
  return error_of([&] { return parse(text); });
}

TEST(JsonParse, ReadsEveryKindOfValue) {
  const auto document = parse(R"({"a": [1, -2, 2.5, true, null, "t\u00e9xt"], "b": {}})");
  const auto items = document->root().at("a").items();
  EXPECT_EQ(items[0].integer(), 1);
  EXPECT_EQ(items[1].integer(), -2);
  EXPECT_EQ(items[2].number(), 2.5);
  EXPECT_EQ(items[0].number(), 1.0);
  EXPECT_TRUE(items[3].boolean());
  EXPECT_TRUE(items[4].is_null());
  EXPECT_EQ(items[5].string(), "téxt");
  EXPECT_THAT(document->root().at("b").members(), IsEmpty());
  EXPECT_EQ(document->root().members().at(0).first, "a");
}

TEST(JsonParse, AcceptsAByteOrderMark) {
  EXPECT_EQ(parse("\xef\xbb\xbf[1]")->root().items().size(), 1U);
  EXPECT_EQ(parse("\xef\xbb\xbf\n[1]")->line_of("/0"), 2);
}

TEST(JsonParse, MoreValuesThanTheLimitAreRefusedAtTheirPlace) {
  const std::string text = "{\n \"a\": [1, 2],\n \"b\": [[], [], []]\n}";
  EXPECT_EQ(JsonDocument::parse(text, "x.json", {.values = 8})->root().at("b").items().size(), 3U);
  const ErrorInfo error =
      error_of([&] { return JsonDocument::parse(text, "x.json", {.values = 7}); });
  EXPECT_EQ(error.code, ErrorCode::kJsonSyntax);
  EXPECT_THAT(error.message, HasSubstr("more than 7 values"));
  EXPECT_EQ(error.where->pointer, "/b");
  EXPECT_EQ(error.where->line, 3);
}

TEST(JsonParse, AHostileTextIsRefusedBeforeItFillsTheMemory) {
  // Three million arrays, each of 3 bytes of text and 40 of memory.
  std::string text = "[";
  for (int i = 0; i < 3'000'000; ++i) text += "[],";
  text.back() = ']';
  const ErrorInfo error = parse_error(text);
  EXPECT_EQ(error.code, ErrorCode::kJsonSyntax);
  EXPECT_THAT(error.message, HasSubstr("more than 1000000 values"));
}

TEST(JsonParse, SyntaxErrorNamesLineAndColumn) {
  const ErrorInfo error = parse_error("{\n  \"a\": 1,\n  \"b\": }\n");
  EXPECT_EQ(error.code, ErrorCode::kJsonSyntax);
  EXPECT_EQ(error.where->file, "x.json");
  EXPECT_EQ(error.where->line, 3);
  EXPECT_THAT(error.notes, ElementsAre("at column 8"));
  EXPECT_THAT(error.message, HasSubstr("invalid JSON"));
  EXPECT_THAT(error.message, HasSubstr("unexpected '}'"));
}

TEST(JsonParse, RefusesWhatJsonDoesNotHave) {
  for (const char* text : {"",
                           "{",
                           "[1,]",
                           "[1 2]",
                           "{\"a\":1,}",
                           "NaN",
                           "[Infinity]",
                           "[1] x",
                           "[01]",
                           "[1e999]",
                           "// c\n1",
                           "\"\xff\"",
                           "{'a': 1}",
                           "[\"\n\"]",
                           "[-]"}) {
    EXPECT_EQ(parse_error(text).code, ErrorCode::kJsonSyntax) << text;
  }
}

TEST(JsonParse, SaysThatAFileIsEmpty) {
  EXPECT_THAT(parse_error("").notes, ElementsAre("the file is empty"));
}

TEST(JsonParse, CutsLongMessages) {
  EXPECT_LT(parse_error("[" + std::string(100'000, 'x')).message.size(), 250U);
}

TEST(JsonParse, RefusesDuplicateKeysAndNamesTheSecond) {
  const ErrorInfo error = parse_error("{\n\"a\": [{\n \"b\": 1,\n \"c\": {},\n \"b\": 2}]\n}");
  EXPECT_EQ(error.code, ErrorCode::kJsonSyntax);
  EXPECT_EQ(error.message, "key `b` appears twice in one object");
  EXPECT_EQ(error.where->pointer, "/a/0/b");
  EXPECT_EQ(error.where->line, 5);
}

TEST(JsonParse, RefusesDuplicateKeysWrittenWithEscapes) {
  EXPECT_THAT(parse_error(R"({"ab": 1, "\u0061b": 2})").message, HasSubstr("`ab` appears twice"));
}

TEST(JsonParse, FindsDuplicatesInLargeObjectsInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "\"k" + std::to_string(i) + "\":1,\n";
  EXPECT_EQ(parse(text + "\"last\":1}")->root().members().size(), 50'001U);
  const ErrorInfo error = parse_error(text + "\"k40000\":1}");
  EXPECT_EQ(error.where->pointer, "/k40000");
  EXPECT_EQ(error.where->line, 50'001);
}

TEST(JsonParse, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(parse_error(deep).message, HasSubstr("200 levels"));
  EXPECT_THAT(parse_error(std::string(200, '[') + "{\"a\":[]}").message, HasSubstr("200 levels"));
  EXPECT_NO_THROW(parse(std::string(200, '[') + std::string(200, ']')));
}

TEST(JsonCursor, MissingKeySuggestsAPresentOne) {
  const auto document = parse("{\"chunk\": {\n \"byte\": 1}}");
  const ErrorInfo error = error_of([&] { return document->root().at("chunk").at("bytes"); });
  EXPECT_EQ(error.code, ErrorCode::kJsonMissingKey);
  EXPECT_EQ(error.where->pointer, "/chunk");
  EXPECT_THAT(error.message, HasSubstr("`bytes`"));
  EXPECT_THAT(error.help, ElementsAre(HasSubstr("`byte`")));
}

TEST(JsonCursor, WrongTypesNameBothAndThePlace) {
  const auto document = parse(
      "{\"n\": true,\n\"s\": 1,\n\"list\": {},\n\"object\": [],\n\"b\": 0,\n\"i\": 3.7, \"q\": "
      "\"7\"}");
  const JsonCursor root = document->root();
  const ErrorInfo error = error_of([&] { return root.at("n").integer(); });
  EXPECT_EQ(error.code, ErrorCode::kJsonType);
  EXPECT_EQ(error.message, "expected an integer, found true");
  EXPECT_EQ(error.where->pointer, "/n");
  EXPECT_EQ(error.where->line, 1);
  EXPECT_EQ(error_of([&] { return root.at("s").string(); }).message, "expected a string, found 1");
  EXPECT_EQ(error_of([&] { return root.at("s").string(); }).where->line, 2);
  EXPECT_EQ(error_of([&] { return root.at("list").items(); }).message,
            "expected an array, found an object");
  EXPECT_EQ(error_of([&] { return root.at("object").members(); }).message,
            "expected an object, found an array");
  EXPECT_EQ(error_of([&] { return root.at("object").at("x"); }).code, ErrorCode::kJsonType);
  EXPECT_EQ(error_of([&] { return root.at("object").has("x"); }).code, ErrorCode::kJsonType);
  EXPECT_EQ(error_of([&] { root.at("object").only_keys({}); }).code, ErrorCode::kJsonType);
  EXPECT_EQ(error_of([&] { return root.at("b").boolean(); }).message,
            "expected true or false, found 0");
  EXPECT_EQ(error_of([&] { return root.at("i").non_negative(); }).message,
            "expected an integer, found 3.7");
  EXPECT_EQ(error_of([&] { return root.at("q").number(); }).message,
            "expected a number, found the string \"7\"");
}

TEST(JsonCursor, CountsMustBeWholeAndInRange) {
  const auto document = parse(
      "[-1, 9223372036854775807, 9223372036854775808, 18446744073709551616, 1e300, "
      "-9223372036854775808, -9223372036854775809, 2.0]");
  const auto items = document->root().items();
  EXPECT_EQ(error_of([&] { return items[0].non_negative(); }).code, ErrorCode::kJsonBadValue);
  EXPECT_THAT(error_of([&] { return items[0].non_negative(); }).message, HasSubstr("-1"));
  EXPECT_EQ(items[1].integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(error_of([&] { return items[2].integer(); }).code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error_of([&] { return items[3].integer(); }).code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error_of([&] { return items[4].integer(); }).code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(items[5].integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(error_of([&] { return items[6].integer(); }).code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error_of([&] { return items[7].integer(); }).code, ErrorCode::kJsonType);
}

TEST(JsonCursor, UnknownKeyIsNamedWithASuggestionAndItsLine) {
  const auto document = parse("{\n\"bytes\": 1,\n\"homee\": 2}");
  const ErrorInfo error = error_of([&] { document->root().only_keys({"bytes", "home"}); });
  EXPECT_EQ(error.code, ErrorCode::kJsonUnknownKey);
  EXPECT_EQ(error.message, "unknown key `homee`");
  EXPECT_EQ(error.where->pointer, "/homee");
  EXPECT_EQ(error.where->line, 3);
  EXPECT_THAT(error.help, ElementsAre("did you mean `home`?", "allowed here: `bytes`, `home`"));
  EXPECT_NO_THROW(document->root().only_keys({"homee", "bytes"}));
}

TEST(JsonCursor, NullableNeedsTheKey) {
  const auto document = parse(R"({"a": null, "b": 4})");
  EXPECT_FALSE(document->root().nullable("a"));
  EXPECT_EQ(document->root().nullable("b")->integer(), 4);
  EXPECT_EQ(error_of([&] { return document->root().nullable("c"); }).code,
            ErrorCode::kJsonMissingKey);
}

TEST(JsonCursor, ChoiceListsWhatIsAllowed) {
  const auto document = parse(R"(["hosd", "device", 3])");
  const auto items = document->root().items();
  EXPECT_EQ(items[1].choice({"device", "host"}), "device");
  const ErrorInfo error = error_of([&] { return items[0].choice({"device", "host"}); });
  EXPECT_EQ(error.code, ErrorCode::kJsonBadValue);
  EXPECT_THAT(error.help, ElementsAre("did you mean `host`?", "one of `device`, `host`"));
  EXPECT_EQ(error_of([&] { return items[2].choice({"device"}); }).code, ErrorCode::kJsonType);
}

TEST(JsonCursor, PointersEscapeSlashAndTilde) {
  const auto document = parse("{\"a/b\": {\n\"~\": [0,\n\"x\"]}}");
  const JsonCursor value = document->root().at("a/b").at("~").items()[1];
  EXPECT_EQ(value.pointer(), "/a~1b/~0/1");
  EXPECT_EQ(document->line_of(value.pointer()), 3);
  EXPECT_EQ(document->root().pointer(), "");
}

TEST(JsonDocument, LineOfSkipsStringsWithBrackets) {
  const auto document = parse("{\"a\": \"}{][\\\"\",\n\"b\": [[], {\"c\": \"]\"},\n 7]}");
  EXPECT_EQ(document->line_of("/b/2"), 3);
  EXPECT_EQ(document->line_of("/b/1/c"), 2);
  EXPECT_EQ(document->line_of("/b/9"), std::nullopt);
  EXPECT_EQ(document->line_of("/nothing"), std::nullopt);
}

TEST(JsonDocument, ChecksSchemaAndVersion) {
  EXPECT_EQ(parse(R"({"schema": "elixir.plan", "schema_version": "1.7"})")
                ->root("elixir.plan", 1)
                .members()
                .size(),
            2U);
  const auto code = [](const std::string& text) {
    return error_of([&] { return parse(text)->root("elixir.plan", 1); }).code;
  };
  EXPECT_EQ(code("{}"), ErrorCode::kWrongSchema);
  EXPECT_EQ(code(R"({"schema": "elixir.profile", "schema_version": "1.0"})"),
            ErrorCode::kWrongSchema);
  EXPECT_EQ(code(R"({"schema": "elixir.plan", "schema_version": "2.0"})"), ErrorCode::kWrongSchema);
  EXPECT_EQ(code(R"({"schema": "elixir.plan", "schema_version": "1"})"), ErrorCode::kWrongSchema);
  EXPECT_EQ(code(R"({"schema": "elixir.plan", "schema_version": "1.x"})"), ErrorCode::kWrongSchema);
  EXPECT_EQ(code(R"({"schema": "elixir.plan"})"), ErrorCode::kJsonMissingKey);
  EXPECT_EQ(code(R"({"schema": 1, "schema_version": "1.0"})"), ErrorCode::kJsonType);
  EXPECT_EQ(code("[]"), ErrorCode::kJsonType);
}

TEST(JsonDocument, LoadReportsTheFile) {
  const ErrorInfo error = error_of([] { return JsonDocument::load("/no/such.json"); });
  EXPECT_EQ(error.code, ErrorCode::kFileNotFound);
  EXPECT_EQ(error.where->file, "/no/such.json");
}

class JsonStream : public testing::Test {
 protected:
  JsonStream() : path_(testing::TempDir() + "json_stream_" + std::to_string(::getpid())) {}
  ~JsonStream() override { ::unlink(path_.c_str()); }
  /// Loads `text` and collects the `v` of each element of `items`.
  std::shared_ptr<const JsonDocument> load(const std::string& text, const JsonLimits& limits = {}) {
    write_file(path_, text, Overwrite::kAllow);
    const auto visit = [this](const JsonCursor& item) { seen_.push_back(item.at("v").integer()); };
    return JsonDocument::load(path_, "elixir.plan", 1, {{"items", visit}}, limits);
  }
  std::string path_;
  std::vector<std::int64_t> seen_;
};

TEST_F(JsonStream, VisitsElementsOfNamedArraysAndDropsThem) {
  const auto document = load(
      R"({"schema": "elixir.plan", "schema_version": "1.0", "items": [{"v": 1}, {"v": 2, "w": [{}]}],
          "other": [{"v": 3}]})");
  EXPECT_THAT(seen_, ElementsAre(1, 2));
  EXPECT_TRUE(document->root().at("items").items().at(1).is_null());
  EXPECT_EQ(document->root().at("other").items().at(0).at("v").integer(), 3);
}

TEST_F(JsonStream, OfWhatIsDroppedOneValueCounts) {
  std::string text = R"({"schema": "elixir.plan", "schema_version": "1.0", "items": [)";
  for (int i = 0; i < 100; ++i) text += "{\"v\": 1, \"w\": [1, 2, 3]},";
  text.back() = ']';
  text += "}";
  // Four, a null for each of 99 elements, and six of the last one.
  EXPECT_EQ(load(text, {.values = 109})->root().at("items").items().size(), 100U);
  const ErrorInfo error = error_of([&] { return load(text, {.values = 108}); });
  EXPECT_EQ(error.code, ErrorCode::kJsonSyntax);
  EXPECT_EQ(error.where->pointer, "/items/99/w");
  EXPECT_EQ(error_of([&] { return load(text, {.bytes = 100}); }).code, ErrorCode::kFileUnreadable);
}

TEST_F(JsonStream, ErrorsOfVisitorsNameTheElement) {
  const ErrorInfo error =
      error_of([&] { return load("{\"items\": [{\"v\": 1},\n{\"v\": 2},\n{\"v\": true}]}"); });
  EXPECT_EQ(error.code, ErrorCode::kJsonType);
  EXPECT_EQ(error.where->pointer, "/items/2/v");
  EXPECT_EQ(error.where->line, 3);
}

TEST_F(JsonStream, RefusesAnotherSchemaBeforeTheFirstElement) {
  const ErrorInfo error = error_of([&] {
    return load(R"({"schema": "elixir.other", "schema_version": "1.0", "items": [{"x": 1}]})");
  });
  EXPECT_EQ(error.code, ErrorCode::kWrongSchema);
  EXPECT_THAT(seen_, IsEmpty());
}

TEST(JsonDump, IsStableAndEndsWithANewline) {
  Json value;
  value["b"] = 1;
  value["a"] = "\xff!";
  EXPECT_EQ(dump(value), "{\n  \"b\": 1,\n  \"a\": \"\xef\xbf\xbd!\"\n}\n");
}

TEST(JsonDump, RefusesNumbersThatAreNotFinite) {
  Json value;
  value["list"] = {1.0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(error_of([&] { return dump(value); }).code, ErrorCode::kInternal);
  EXPECT_EQ(error_of([] { return dump(Json(std::numeric_limits<double>::infinity())); }).code,
            ErrorCode::kInternal);
}

TEST(MakeMeta, HoldsToolArgumentsTimeAndMachine) {
  const Json meta = make_meta("elixir-test", {"elixir-test", "--x"});
  std::vector<std::string> keys;
  for (const auto& member : meta.items()) keys.push_back(member.key());
  EXPECT_THAT(keys, ElementsAre("tool", "version", "argv", "time", "machine"));
  EXPECT_EQ(meta["argv"][1], "--x");
  EXPECT_THAT(meta["time"].get<std::string>(), ::testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_GE(meta["machine"]["logical_cpus"].get<int>(), 1);
}

TEST(SchemaOf, FindsTheRootsSchemaWhereverItStands) {
  const std::string path = testing::TempDir() + "/schema-of-" + std::to_string(::getpid());
  const auto schema = [&](const std::string& text) {
    write_file(path, text, Overwrite::kAllow);
    return schema_of(path);
  };
  EXPECT_EQ(schema(R"({"schema": "elixir.plan", "x": 1})"), "elixir.plan");
  EXPECT_EQ(schema(R"({"a": {"schema": "inner"}, "b": [{"schema": 1}], "schema": "outer"})"),
            "outer");
  EXPECT_EQ(schema(R"({"schema": "elixir.plan", broken)"), "elixir.plan");
  for (const char* text : {"",
                           "{",
                           "{}",
                           "[]",
                           R"("schema")",
                           R"(["schema", "x"])",
                           R"({"schema": 1})",
                           R"({"schema": {"schema": "x"}})",
                           R"({"schema": ["x"]})",
                           R"({"schema": null, "schema": "x"})",
                           R"({broken, "schema": "x"})"}) {
    EXPECT_EQ(schema(text), std::nullopt) << text;
  }
  ::unlink(path.c_str());
  EXPECT_EQ(error_of([&] { return schema_of(path); }).code, ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace elixir
