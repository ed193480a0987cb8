// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/recomputation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.h"

namespace elixir::report {
namespace {

using edit::Recompute;
using search::RecomputationSavings;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr program::Target kH200{.kind = program::Target::Kind::kCuda, .sm = 90};

RecomputationSavings sample_savings() {
  RecomputationSavings savings;
  savings.blocks = 12;
  savings.hardware = "h200";
  savings.operators_ns = 200'000'000;
  savings.nothing = {Recompute::kNone, 20_GiB, 0, 70_GiB};
  savings.points = {{Recompute::kElementwise, 12_GiB, 4'200'000, 62_GiB},
                    {Recompute::kFrontier, 8_GiB, 20'000'000, 58_GiB},
                    {Recompute::kBlocks, 2_GiB, 44'000'000, 53_GiB}};
  return savings;
}

std::string text_of(const RecomputationSavings& savings, const program::Target& target = kH200) {
  return recomputation_text(savings, target, unit_for(70_GiB));
}

TEST(Recomputation, IsATableOfBytesAndModelledTime) {
  EXPECT_EQ(text_of(sample_savings()),
            "recomputing                  saved  time, modelled   kept  peak allocated\n"
            "                             (GiB)             (%)  (GiB)           (GiB)\n"
            "nothing                          -               -  20.00           70.00\n"
            "norms and elementwise        -8.00            +2.1  12.00           62.00\n"
            "cheapest for these bytes    -12.00           +10.0   8.00           58.00\n"
            "all but the blocks' inputs  -18.00           +22.0   2.00           53.00\n"
            "in 12 blocks; at least 2.00 GiB of activations stay kept\n"
            "time: modelled with the figures of h200, where all operators take 200 ms\n");
}

TEST(Recomputation, InventsNoTimes) {
  RecomputationSavings savings = sample_savings();
  savings.hardware.clear();
  savings.operators_ns.reset();
  for (auto& point : savings.points) point.recompute_ns.reset();
  savings.nothing.recompute_ns.reset();
  const std::string text = text_of(savings, {.kind = program::Target::Kind::kCuda, .sm = 80});
  EXPECT_THAT(text, Not(HasSubstr("%")));
  EXPECT_THAT(text, HasSubstr("norms and elementwise        -8.00  12.00           62.00\n"));
  EXPECT_THAT(text, HasSubstr("time: not known, no figures of cuda:sm_80 are shipped\n"));
  const Json json = to_json(savings);
  EXPECT_TRUE(json["hardware"].is_null());
  EXPECT_TRUE(json["modelled_operators_ns"].is_null());
  EXPECT_TRUE(json["points"][0]["modelled_recompute_ns"].is_null());
  EXPECT_TRUE(json["points"][0]["modelled_percent"].is_null());
}

TEST(Recomputation, ThatSavesNothingIsOneLine) {
  RecomputationSavings savings = sample_savings();
  savings.points.clear();
  EXPECT_EQ(text_of(savings), "recomputing saves nothing in the 12 blocks\n");
  savings.blocks = 0;
  EXPECT_EQ(text_of(savings), "recomputing saves nothing: there are no blocks\n");
  EXPECT_TRUE(to_json(savings)["points"].empty());
}

TEST(Recomputation, HasTheSameInJson) {
  const Json json = to_json(sample_savings());
  EXPECT_EQ(json["blocks"], 12);
  EXPECT_EQ(json["hardware"], "h200");
  EXPECT_EQ(json["modelled_operators_ns"], 200'000'000);
  EXPECT_EQ(json["nothing"]["kept_bytes"], 20_GiB);
  ASSERT_EQ(json["points"].size(), 3);
  const Json& first = json["points"][0];
  EXPECT_EQ(first["choice"], "elementwise");
  EXPECT_EQ(first["kept_bytes"], 12_GiB);
  EXPECT_EQ(first["saved_bytes"], 8_GiB);
  EXPECT_EQ(first["peak_allocated_bytes"], 62_GiB);
  EXPECT_EQ(first["modelled_recompute_ns"], 4'200'000);
  EXPECT_DOUBLE_EQ(first["modelled_percent"].get<double>(), 2.1);
}

}  // namespace
}  // namespace elixir::report
