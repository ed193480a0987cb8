// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/sample_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "measure/sampling.h"

namespace elixir::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SampleLog, KeepsEveryFigureOfTheInnermostScope) {
  const SampleScope outer("outer");
  (void)summarise({1, 2, 3}, "first");
  {
    const SampleScope inner("inner");
    (void)rate_figure(6, {2, 3}, "second");
    ASSERT_EQ(inner.series().size(), 1U);
    EXPECT_EQ(inner.series()[0].measurement, "inner");
    EXPECT_THAT(inner.series()[0].values, ElementsAre(3, 2)) << "in the order they were taken";
  }
  ASSERT_EQ(outer.series().size(), 1U);
  EXPECT_EQ(outer.series()[0].method, "first");
}

TEST(SampleLog, WritesOneObjectALine) {
  const std::string text = json_lines({{"a", "how", {1.5, 2}}, {"b", "by \"x\"", {3}}});
  const std::size_t end = text.find('\n');
  const Json first = Json::parse(text.substr(0, end));
  EXPECT_EQ(first["measurement"], "a");
  EXPECT_EQ(first["values"], Json({1.5, 2.0}));
  EXPECT_EQ(Json::parse(text.substr(end + 1))["method"], "by \"x\"");
  EXPECT_EQ(text.back(), '\n');
}

TEST(Drift, ComparesTheHalves) {
  EXPECT_EQ(drift({1, 1, 1, 2, 2, 2}), 0) << "too few samples say nothing";
  EXPECT_DOUBLE_EQ(drift({10, 10, 10, 10, 8, 8, 8, 8}), -0.2);
  EXPECT_DOUBLE_EQ(drift({10, 10, 99, 10, 10, 10, 10, 1}), 0) << "medians ignore single samples";
}

TEST(Drift, IsNotedWhenItIsBeyondTheLimit) {
  const std::vector<SampleSeries> series = {{"m", "steady", {5, 5, 5, 5, 5, 5, 5, 5}},
                                            {"m", "slowing", {10, 10, 10, 10, 8, 8, 8, 8}}};
  EXPECT_THAT(drift_note(series, 0.1), HasSubstr("-20 % (slowing)"));
  EXPECT_EQ(drift_note(series, 0.3), "");
  EXPECT_EQ(drift_note({}, 0.1), "");
}

}  // namespace
}  // namespace elixir::measure
