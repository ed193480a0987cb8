// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/units.h"

#include <gtest/gtest.h>

namespace elixir {
namespace {

TEST(ParseBytes, AcceptsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("512"), 512);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("12B"), 12);
  EXPECT_EQ(parse_bytes("64 KiB"), 65536);
  EXPECT_EQ(parse_bytes("1.5GiB"), 1610612736);
  EXPECT_EQ(parse_bytes("80 GB"), 80'000'000'000);
  EXPECT_EQ(parse_bytes("80GiB"), 80_GiB);
  EXPECT_EQ(parse_bytes("3kB"), 3000);
  EXPECT_EQ(parse_bytes("2TiB"), 2048_GiB);
  EXPECT_EQ(parse_bytes("0.5TB"), 500'000'000'000);
}

TEST(ParseBytes, RoundsAFractionDownToABudgetThatIsKept) {
  EXPECT_EQ(parse_bytes("0.1KiB"), 102);
  EXPECT_EQ(parse_bytes("0.3GiB"), 322122547);
}

TEST(ParseBytes, IsExactWhereADoubleIsNot) {
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993);
  EXPECT_EQ(parse_bytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text : {"",
                           "G",
                           "80G",
                           "80M",
                           "1K",
                           "2T",
                           "-1",
                           "-1GiB",
                           "+1",
                           "1.5",
                           "1.5B",
                           ".5GiB",
                           "5.GiB",
                           "1e9",
                           "0x10",
                           "1  GiB",
                           " 1",
                           "1 ",
                           "1GIB",
                           "1gib",
                           "1KB",
                           "GiB",
                           "1 ",
                           "1,5GiB",
                           "1.2.3MB",
                           "nan",
                           "inf",
                           "1GiB more",
                           "1 \tB",
                           "１",
                           "1GiBB",
                           "1 B B",
                           "9223372036854775808",
                           "8388608TiB",
                           "99999999999999999999999999999999999999999999"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(FormatBytes, ShowsThreeOrFourDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1610612736), "1.50 GiB");
  EXPECT_EQ(format_bytes(768_MiB), "768 MiB");
  EXPECT_EQ(format_bytes(141'000'000'000), "131.3 GiB");
  EXPECT_EQ(format_bytes(76'450'000'000), "71.2 GiB");
  EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
  EXPECT_EQ(format_bytes(2000 * 1024_GiB), "2,000 TiB");
}

TEST(FormatBytes, MovesToTheNextUnitInsteadOfRoundingTo1024) {
  EXPECT_EQ(format_bytes(1_MiB - 1), "1.00 MiB");
  EXPECT_EQ(format_bytes(1_MiB - 1024), "1,023 KiB");
  EXPECT_EQ(format_bytes(10_MiB - 1), "10.0 MiB");
}

TEST(FormatNs, ChoosesTheUnit) {
  EXPECT_EQ(format_ns(0), "0 ns");
  EXPECT_EQ(format_ns(812), "812 ns");
  EXPECT_EQ(format_ns(18'200), "18.2 µs");
  EXPECT_EQ(format_ns(412'300'000), "412.3 ms");
  EXPECT_EQ(format_ns(2.1e9), "2.10 s");
  EXPECT_EQ(format_ns(1.284e12), "1,284 s");
  EXPECT_EQ(format_ns(999'999), "1.00 ms");
  EXPECT_EQ(format_ns(0.25), "0.25 ns");
}

TEST(FormatBytesPerSecond, IsDecimal) {
  EXPECT_EQ(format_bytes_per_s(55.5e9), "55.5 GB/s");
  EXPECT_EQ(format_bytes_per_s(4.8e12), "4.80 TB/s");
  EXPECT_EQ(format_bytes_per_s(120e9), "120 GB/s");
}

TEST(FormatCount, GroupsByThree) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1313626112), "1,313,626,112");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(RoundUp, GoesToTheNextMultiple) {
  EXPECT_EQ(round_up(0, 512), 0);
  EXPECT_EQ(round_up(1, 512), 512);
  EXPECT_EQ(round_up(512, 512), 512);
}

}  // namespace
}  // namespace elixir
