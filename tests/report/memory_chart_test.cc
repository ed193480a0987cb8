// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/memory_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "core/error.h"
#include "fakes/program_builder.h"
#include "memory/step/training_step.h"

namespace elixir::report {
namespace {

using program::Category;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MemoryChart, DrawsStepsInProportion) {
  fakes::ProgramBuilder builder;
  const auto weight = builder.parameter("weight", {1280});  // ten blocks
  const auto x = builder.call("aten::a", {weight}, {1280});
  builder.call("aten::b", {x}, {1280});
  const program::Program program = builder.build();
  const auto timeline = memory::make_timeline(program, 0);
  const ByteUnit unit = unit_for(timeline.peak_bytes);
  const MemoryChart chart(program, timeline, unit);
  EXPECT_THAT(chart.layers(),
              ElementsAre(Layer(Category::kParameter), Layer(Category::kTemporary)));
  // The plot is 1110 wide from 76 and 352 high from 40; its top is 6 % above 30 blocks.
  const std::string svg = chart.svg();
  EXPECT_THAT(svg, HasSubstr("class=\"c-parameter\" d=\"M76 281.3H1186V392H76Z\""));
  EXPECT_THAT(svg, HasSubstr("class=\"c-temporary\" d=\"M76 170.6H631V59.9H1186V281.3H76Z\""));
  EXPECT_THAT(svg, HasSubstr("peak 15.0 KiB"));
  EXPECT_THAT(svg, Not(HasSubstr("c-gradient")));
}

TEST(MemoryChart, MarksWhereBackwardBegins) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  const auto timeline = memory::make_timeline(program, 0);
  const ByteUnit unit = unit_for(timeline.peak_bytes);
  const double share = static_cast<double>(memory::first_backward(program)) /
                       static_cast<double>(program.operators.size());
  const std::string svg = MemoryChart(program, timeline, unit).svg();
  const std::size_t at = svg.find("id=\"boundary\" x1=\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NEAR(std::stod(svg.substr(at + 18)), 76 + 1110 * share, 0.06);
}

TEST(MemoryChart, ItsDataIsTheTimeline) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    program::Program program = fakes::random_program(seed);
    if (seed % 2 == 0) program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
    const memory::Timeline timeline =
        memory::predict_step(program, program::Optimizer::kAdamW, {}, {}).timeline;
    const ByteUnit unit = unit_for(timeline.peak_bytes);
    const Json data = MemoryChart(program, timeline, unit).data();
    ASSERT_EQ(data["first"].size(), program.operators.size());  // few enough to have one each
    for (std::size_t i = 0; i < program.operators.size(); ++i) {
      std::int64_t sum = 0;
      for (const Json& category : data["categories"]) {
        sum += category["bytes"][i].get<std::int64_t>();
      }
      EXPECT_EQ(sum, timeline.allocated_bytes[i]);
      EXPECT_EQ(data["names"][data["name"][i].get<std::size_t>()], program.operators[i].name);
    }
  }
}

TEST(MemoryChart, HasFewStepsWhateverTheProgram) {
  const program::Program program = fakes::transformer({.layers = 150});
  ASSERT_GT(program.operators.size(), 2 * MemoryChart::kMostBuckets);
  const auto timeline = memory::make_timeline(program, 0);
  const ByteUnit unit = unit_for(timeline.peak_bytes);
  const Json data = MemoryChart(program, timeline, unit).data();
  EXPECT_LE(data["first"].size(), MemoryChart::kMostBuckets);
  const auto shown = data["shown"].get<std::vector<program::OperatorId>>();
  EXPECT_THAT(shown, ::testing::Contains(timeline.peak_operator));
}

TEST(MemoryChart, NeedsOperators) {
  const program::Program program = fakes::ProgramBuilder().build();
  const auto timeline = memory::make_timeline(program, 0);
  const ByteUnit unit = unit_for(0);
  EXPECT_THROW(MemoryChart(program, timeline, unit), Error);
}

}  // namespace
}  // namespace elixir::report
