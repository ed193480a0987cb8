// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/table.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"

namespace elixir::report {
namespace {

TEST(Table, AlignsAndShowsUnitsInARowOfTheirOwn) {
  Table table(
      {{"rank", "", Align::kLeft}, {"params", "GiB"}, {"step", "µs"}, {"name", "", Align::kLeft}});
  table.row({"0 (worst)", "1.6", "12", "a"});
  table.row({"1", "131.3", "412.3", ""});
  EXPECT_EQ(table.text(),
            "rank       params   step  name\n"
            "            (GiB)   (µs)\n"
            "0 (worst)     1.6     12  a\n"
            "1           131.3  412.3\n");
}

TEST(Table, HasNoUnitRowWithoutUnits) {
  Table table({{"a", "", Align::kLeft}, {"b", ""}});
  EXPECT_TRUE(table.empty());
  table.row({"x", "1"});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.text(), "a  b\nx  1\n");
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table(std::vector<Column>{{"a", ""}});
  EXPECT_THROW(table.row({"1", "2"}), Error);
}

}  // namespace
}  // namespace elixir::report
