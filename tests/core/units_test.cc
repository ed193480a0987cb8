// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/units.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(ParseBytes, SaysWhatABareLetterCouldMean) {
  EXPECT_EQ(expected_bytes("20G"), "20GiB (1024) or 20GB (1000)");
  EXPECT_EQ(expected_bytes("1.5k"), "1.5KiB (1024) or 1.5kB (1000)");
  EXPECT_NE(expected_bytes("G").find("a size such as"), std::string::npos);
  EXPECT_NE(expected_bytes("").find("a size such as"), std::string::npos);
}

TEST(ParseDuration, NeedsAUnit) {
  EXPECT_EQ(parse_duration_ns("250ms"), 250'000'000);
  EXPECT_EQ(parse_duration_ns("1.5 s"), 1'500'000'000);
  EXPECT_EQ(parse_duration_ns("800us"), 800'000);
  EXPECT_EQ(parse_duration_ns("800µs"), 800'000);
  EXPECT_EQ(parse_duration_ns("7ns"), 7);
  EXPECT_EQ(parse_duration_ns("2min"), 120'000'000'000);
  EXPECT_EQ(parse_duration_ns("0.5h"), 1'800'000'000'000);
  EXPECT_EQ(parse_duration_ns("0.0000001ms"), 0);
  for (const char* text : {"",
                           "250",
                           "ms",
                           "1.5ns",
                           "-1s",
                           "1 sec",
                           "1m",
                           "1S",
                           "1s ",
                           "1e3s",
                           "9223372036854775808ns"}) {
    EXPECT_EQ(parse_duration_ns(text), std::nullopt) << text;
  }
}

TEST(ParseCount, HasPowersOfAThousand) {
  EXPECT_EQ(parse_count("124439808"), 124439808);
  EXPECT_EQ(parse_count("125M"), 125'000'000);
  EXPECT_EQ(parse_count("1.3B"), 1'300'000'000);
  EXPECT_EQ(parse_count("7 k"), 7000);
  EXPECT_EQ(parse_count("175B"), 175'000'000'000);
  EXPECT_EQ(parse_count("1T"), 1'000'000'000'000);
  for (const char* text : {"", "1.5", "1G", "1,000", "-1", "1 ", "M", "1KB", "1b"}) {
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
  }
}

TEST(ParsePercent, NeedsTheSign) {
  EXPECT_EQ(parse_percent("2%"), 2.0);
  EXPECT_EQ(parse_percent("0.5 %"), 0.5);
  EXPECT_EQ(parse_percent("0%"), 0.0);
  EXPECT_EQ(parse_percent("150%"), 150.0);
  EXPECT_EQ(parse_percent("1000000%"), 1e6);
  for (const char* text :
       {"", "2", "%", "-1%", "+1%", "1e1%", "inf%", "nan%", "2%%", "1000001%", "2 percent"}) {
    EXPECT_EQ(parse_percent(text), std::nullopt) << text;
  }
}

TEST(ByteLists, TakeTheUnitOfTheLast) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(parse_bytes_list("16,24,40,80GiB"), (List{16_GiB, 24_GiB, 40_GiB, 80_GiB}));
  EXPECT_EQ(parse_bytes_list("512MiB,1.5 GiB"), (List{512_MiB, 1536_MiB}));
  EXPECT_EQ(parse_bytes_list("1"), (List{1}));
  for (const char* bad : {"", ",", "1GiB,", ",1GiB", "1,,2GiB", "80G", "1GiB,80G", "-1GiB", "a"}) {
    EXPECT_EQ(parse_bytes_list(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace elixir
