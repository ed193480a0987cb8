// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Pickles, code and sizes that must not reach LibTorch's loader. No LibTorch here.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/archive/code_check.h"
#include "capture/archive/pickle_check.h"
#include "capture/archive/record_check.h"

namespace elixir::capture {
namespace {

using testing::HasSubstr;
using testing::Optional;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// Checks a pickle of protocol 2 with the content `body`.
PickleCheck checked(const std::string& body) {
  return check_pickle(bytes({0x80, 2}) + body + ".");
}

std::string text(const std::string& value) {
  return "X" + bytes({static_cast<int>(value.size()), 0, 0, 0}) + value;
}

/// A storage of `elements` floats under the key "0".
std::string storage(int elements) {
  return "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K" +
         bytes({elements}) + "tQ";
}

/// A tensor in that storage. Offset, sizes and strides are opcodes.
std::string tensor(const std::string& offset,
                   const std::string& sizes,
                   const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage(8) + offset + "(" + sizes + "t(" +
         strides + "t" + bytes({0x89}) + "NtR";
}

TEST(PickleCheck, TakesWhatThePicklerWrites) {
  EXPECT_EQ(checked("N").problem, std::nullopt);
  EXPECT_EQ(checked("}q" + bytes({0}) + "(" + text("a") + "K\x01" + text("b") + "]u").problem,
            std::nullopt);
  EXPECT_EQ(checked("c__torch__\nM\n)" + bytes({0x81}) + "}(" + text("w") + "Nub").problem,
            std::nullopt);
  const PickleCheck check = checked(tensor("K\x02", "K\x02K\x03", "K\x03K\x01"));
  EXPECT_EQ(check.problem, std::nullopt);
  ASSERT_EQ(check.storages.size(), 1U);
  EXPECT_EQ(check.storages[0].key, "0");
  EXPECT_EQ(check.storages[0].bytes, 32U);
}

TEST(PickleCheck, RefusesNestingThatWouldEndTheStack) {
  EXPECT_THAT(checked("N" + repeated(bytes({0x85}), 200'000)).problem,
              Optional(HasSubstr("nested 200000 deep")));
}

TEST(PickleCheck, RefusesMemoIndicesBeyondItsSize) {
  EXPECT_THAT(checked("Nr" + bytes({0x80, 0x96, 0x98, 0})).problem,
              Optional(HasSubstr("numbers a value 10000000")));
  EXPECT_THAT(checked("Nr" + bytes({0xff, 0xff, 0xff, 0xff})).problem,
              Optional(HasSubstr("4294967295")));
  EXPECT_TRUE(checked("Nh" + bytes({7})).problem);
}

TEST(PickleCheck, RefusesValuesThatHoldThemselvesOrMultiply) {
  EXPECT_THAT(checked("]q" + bytes({0}) + "(h" + bytes({0}) + "e").problem,
              Optional(HasSubstr("holds itself")));
  const std::string twice = "q" + bytes({0}) + "h" + bytes({0, 0x86});
  EXPECT_THAT(checked("N" + repeated(twice, 100)).problem, Optional(HasSubstr("too often")));
}

TEST(PickleCheck, RefusesTextsBeyondItsEnd) {
  EXPECT_THAT(checked("X" + bytes({0xff, 0xff, 0xff, 0xff})).problem,
              Optional(HasSubstr("claims 4294967295 bytes")));
}

TEST(PickleCheck, RefusesValuesThatAreNotThere) {
  for (const std::string body : {"0", "t", "e", "u", "s", "R", "b", "Q", "N(u", "]e", "(]R"}) {
    EXPECT_TRUE(checked(body).problem) << body;
  }
  EXPECT_TRUE(checked("}(Nu").problem) << "a key without value";
  EXPECT_TRUE(checked("K" + bytes({0}) + ")R").problem) << "a number called as a function";
}

TEST(PickleCheck, RefusesTensorsOutsideTheirStorage) {
  const std::string one = "K\x01";
  const std::string minus_one = "J" + bytes({0xff, 0xff, 0xff, 0xff});
  const std::string large = bytes({0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 0x40});
  const std::string none = "K" + bytes({0});
  EXPECT_THAT(checked(tensor(minus_one, one, one)).problem,
              Optional(HasSubstr("begins before it")));
  EXPECT_THAT(checked(tensor("K\x08", one, one)).problem,
              Optional(HasSubstr("beyond its storage")));
  EXPECT_THAT(checked(tensor(none, "K\x09", one)).problem,
              Optional(HasSubstr("beyond its storage")));
  EXPECT_THAT(checked(tensor(none, large + large, one + one)).problem,
              Optional(HasSubstr("larger than any memory")));
  EXPECT_THAT(checked(tensor(none, large + large, none + none)).problem,
              Optional(HasSubstr("larger than any memory")))
      << "an expanded view counts as what it stands for";
  EXPECT_TRUE(checked(tensor(none, one, minus_one)).problem);
}

TEST(PickleCheck, RefusesDeepTypes) {
  const std::string type = repeated("List[", 80) + "int" + repeated("]", 80);
  std::string name =
      "X" + bytes({static_cast<int>(type.size() & 255), static_cast<int>(type.size() >> 8), 0, 0}) +
      type;
  EXPECT_THAT(
      checked("ctorch.jit._pickle\nrestore_type_tag\n]" + name + bytes({0x86}) + "R").problem,
      Optional(HasSubstr("nested too deeply")));
}

TEST(CodeCheck, TakesWhatThePrinterWrites) {
  EXPECT_EQ(check_code("class M(Module):\n"
                       "  __parameters__ = [\"weight\", ]\n"
                       "  weight : Tensor\n"
                       "  def forward(self: __torch__.M,\n"
                       "    x: Tensor) -> Tensor:\n"
                       "    _0 = torch.gt(torch.size(x, 0), 1)\n"
                       "    if _0:\n"
                       "      y = torch.add(x, self.weight, alpha=1)\n"
                       "    else:\n"
                       "      y = x\n"
                       "    _1 = ops.prim.RaiseException(\"it's (((\\\" # so\")\n"
                       "    return y\n"),
            std::nullopt);
  std::string numbers = "x = [0.5";
  for (int i = 0; i < 100'000; ++i) numbers += ", -1.25";
  EXPECT_EQ(check_code(numbers + "]\n"), std::nullopt);
}

TEST(CodeCheck, RefusesWhatTheParserWouldEndTheStackOn) {
  const auto message = [](const std::string& code) {
    const auto problem = check_code(code);
    return problem ? problem->message : std::string();
  };
  EXPECT_THAT(message("x = " + repeated("(", 20'000) + repeated(")", 20'000)),
              HasSubstr("brackets"));
  EXPECT_THAT(message("x = 1" + repeated("\n", 50'000)), HasSubstr("empty lines"));
  EXPECT_THAT(message("x = 1" + repeated("\\\n", 50'000)), HasSubstr("empty lines"));
  EXPECT_THAT(message("x = 1\n" + repeated("# comment\n", 50'000)), HasSubstr("empty lines"));
  EXPECT_THAT(message("x = " + repeated("-", 20'000) + "1\n"), HasSubstr("nested too deeply"));
  EXPECT_THAT(message("x = " + repeated("not ", 20'000) + "y\n"), HasSubstr("nested too deeply"));
  EXPECT_THAT(message("x = y" + repeated(".z", 20'000) + "\n"), HasSubstr("nested too deeply"));
  EXPECT_THAT(message("x = f" + repeated("(y)", 20'000) + "\n"), HasSubstr("nested too deeply"));
  EXPECT_THAT(message("# type: " + repeated("(", 20'000) + "\n"), HasSubstr("brackets"));
  std::string blocks;
  for (int i = 0; i < 1000; ++i)
    blocks += std::string(static_cast<std::size_t>(i), ' ') + "if x:\n";
  EXPECT_THAT(message(blocks), HasSubstr("blocks"));
  EXPECT_THAT(message("if x:\n  pass\n" + repeated("elif x:\n  pass\n", 1000)),
              HasSubstr("branches"));
}

TEST(CodeCheck, RefusesTextsThatCouldHideBrackets) {
  EXPECT_NE(check_code("x = \"\"\"(\"\"\"\n"), std::nullopt);
  EXPECT_NE(check_code("x = \"a\\\nb\"\n"), std::nullopt);
  EXPECT_NE(check_code("x = \"a\nb\"\n"), std::nullopt);
  EXPECT_NE(check_code("x = )\n"), std::nullopt);
}

// LibTorch's compiler reads the first index without asking whether there is one.
TEST(CodeCheck, RefusesSubscriptsWithoutAnIndex) {
  for (const char* code : {"y = x[]\n",
                           "x[] = y\n",
                           "y = f(x)[ ]\n",
                           "y = (x[0][\n])\n",
                           "y = \"a\"[]\n",
                           "y = 1.[]\n",
                           "y = (x # (,\n[ # (\n])\n"}) {
    const auto problem = check_code(code);
    ASSERT_TRUE(problem) << code;
    EXPECT_EQ(problem->message, "a subscript has no index") << code;
  }
  for (const char* code : {"x = []\n",
                           "x = f([], [[]], {}, [()])\n",
                           "for i in []:\n  return []\n",
                           "x = y and [] or not []\n",
                           "x = y[[]]\n",
                           "y\n[]\n",
                           "x = [y for y in []]\n"}) {
    EXPECT_EQ(check_code(code), std::nullopt) << code;
  }
}

TEST(CodeCheck, NamesTheLine) {
  const auto problem = check_code("x = 1\ny = )\n");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->line, 2U);
}

ZipEntry entry(const std::string& name, std::uint64_t size, bool stored = true) {
  return {.name = "model/" + name, .checksum = 0, .bytes = size, .stored = stored};
}

// LibTorch would find these records, and the checks of code and pickles would not.
TEST(RecordNames, InAnotherCaseAreRefused) {
  for (const char* name : {"Code/__torch__.py",
                           "cOde/__torch__.py",
                           "code/__torch__.PY",
                           "DATA/0",
                           "Data.pkl",
                           "constants.PKL",
                           "Version",
                           "code/__torch__.py.Debug_pkl"}) {
    const auto problem = check_record_names({entry("data.pkl2", 1), entry(name, 1)});
    ASSERT_TRUE(problem) << name;
    EXPECT_THAT(problem->message, HasSubstr(name));
  }
  ZipEntry other_folder = entry("code/__torch__.py", 1);
  other_folder.name[0] = 'M';
  EXPECT_TRUE(check_record_names({entry("data.pkl", 1), other_folder}));
  EXPECT_TRUE(check_record_names({entry("data/a", 1), entry("data/A", 1)}));
  EXPECT_TRUE(check_record_names({entry("data/a", 1), entry("data/a", 1)}));
}

TEST(RecordNames, OfModelsAreTaken) {
  EXPECT_EQ(check_record_names({entry("data.pkl", 1),
                                entry("code/__torch__/models/Net.py", 1),
                                entry("code/__torch__/models/Net.py.debug_pkl", 1),
                                entry("constants.pkl", 1),
                                entry("data/0", 1),
                                entry("extra/README", 1),
                                entry(".data/serialization_id", 1),
                                entry("version", 1)}),
            std::nullopt);
  EXPECT_EQ(check_record_names({}), std::nullopt);
}

TEST(RecordSizes, WeightsAreAsLargeAsTheyLike) {
  EXPECT_EQ(check_record_sizes({entry("data/0", std::uint64_t{1} << 50), entry("data.pkl", 100)}),
            std::nullopt);
}

TEST(RecordSizes, WhatIsReadWholeIsBounded) {
  constexpr std::uint64_t kHole = std::uint64_t{60} << 30;
  for (const char* name : {"code/__torch__.py",
                           "extra/initialization.json",
                           "data.pkl",
                           "version",
                           "constants/0",
                           "traced_inputs/0"}) {
    const auto problem = check_record_sizes({entry(name, kHole)});
    ASSERT_TRUE(problem) << name;
    EXPECT_EQ(problem->record, name);
    EXPECT_THAT(problem->message, HasSubstr("60.0 GiB"));
  }
  std::vector<ZipEntry> many;
  for (int i = 0; i < 100; ++i)
    many.push_back(entry("code/a" + std::to_string(i) + ".py", 1 << 20));
  EXPECT_TRUE(check_record_sizes(many)) << "together they are as large as one";
}

TEST(RecordSizes, TensorsAreNotCompressed) {
  EXPECT_TRUE(check_record_sizes({entry("data/0", 100, /*stored=*/false)}));
}

TEST(RecordContents, ATensorNeedsItsRecord) {
  const std::string pickle = bytes({0x80, 2}) + storage(8) + ".";
  const auto problem_with = [&](const std::string& name, std::optional<std::uint64_t> size) {
    return check_record_contents(
        {name},
        [&](const std::string&) { return pickle; },
        [&](const std::string&) { return size; });
  };
  EXPECT_FALSE(problem_with("constants.pkl", 32));
  EXPECT_TRUE(problem_with("constants.pkl", 31));
  EXPECT_TRUE(problem_with("constants.pkl", std::nullopt));
  EXPECT_FALSE(problem_with("traced_inputs.pkl", 0)) << "shapes come without data";
  EXPECT_TRUE(problem_with("traced_inputs.pkl", 31));
  EXPECT_FALSE(problem_with("data.pkl", 0)) << "saved from the meta device";
  EXPECT_TRUE(problem_with("data.pkl", 31));
}

}  // namespace
}  // namespace elixir::capture
