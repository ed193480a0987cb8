// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/byte_unit.h"

#include <gtest/gtest.h>

#include "core/units.h"

namespace elixir::report {
namespace {

TEST(ByteUnit, FitsTheLargestFigure) {
  EXPECT_EQ(unit_for(0).name, "KiB");
  EXPECT_EQ(unit_for(10_MiB - 1).name, "KiB");
  EXPECT_EQ(unit_for(10_MiB).name, "MiB");
  EXPECT_EQ(unit_for(10_GiB - 1).name, "MiB");
  EXPECT_EQ(unit_for(10_GiB).name, "GiB");
  EXPECT_EQ(unit_for(4000_GiB).name, "GiB");
}

TEST(ByteUnit, WritesFiguresWithSeparators) {
  const ByteUnit mib = unit_for(10_MiB);
  EXPECT_EQ(in_unit(0, mib), "0.0");
  EXPECT_EQ(in_unit(1_MiB * 3 / 2, mib), "1.5");
  EXPECT_EQ(in_unit(999_MiB, mib), "999.0");
  EXPECT_EQ(in_unit(1000_MiB, mib), "1,000.0");
  EXPECT_EQ(in_unit(-1234567_MiB, mib), "-1,234,567.0");
  EXPECT_EQ(in_unit(1536_MiB, unit_for(10_GiB)), "1.50");
}

}  // namespace
}  // namespace elixir::report
