// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_times.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/rank_training.h"

namespace elixir::train {
namespace {

using runtime::on_ranks;
using runtime::Ranks;

std::string text_of(const std::vector<TimedStep>& steps) {
  std::string text;
  for (const TimedStep& step : steps) {
    text += fmt::format("{}:", step.step_ns);
    for (const schedule::TaskTime& time : step.tasks) {
      text += fmt::format(" {}-{}", time.start_ns, time.end_ns);
    }
    text += "; ";
  }
  return text;
}

TEST(RankTimes, AreGatheredByRank) {
  const std::vector<std::string> seen = on_ranks(3, [](const Ranks& ranks) {
    const double rank = ranks.rank();
    const TimedStep own{.step_ns = 100 + rank, .tasks = {{rank, rank + 1}, {rank + 1, rank + 3}}};
    return text_of(gather_times(own, ranks.control));
  });
  for (const std::string& text : seen) {
    EXPECT_EQ(text, "100: 0-1 1-3; 101: 1-2 2-4; 102: 2-3 3-5; ");
  }
}

TEST(RankTimes, MayBeNone) {
  const std::vector<std::string> seen =
      on_ranks(2, [](const Ranks& ranks) { return text_of(gather_times({}, ranks.control)); });
  for (const std::string& text : seen) EXPECT_EQ(text, "0:; 0:; ");
}

TEST(RankTimes, OfOneRankAreItsOwn) {
  const TimedStep own{.step_ns = 7, .tasks = {{1, 2}}};
  EXPECT_EQ(text_of(gather_times(own, nullptr)), "7: 1-2; ");
}

TEST(RankTimes, AreOfTheNewestStepThatWasTimed) {
  TimedStep step;
  runtime::StepReport timed;
  timed.step_ns = 9;
  timed.tasks = {{0, 4}};
  step.take(timed);
  runtime::StepReport untimed;
  untimed.step_ns = 5;
  step.take(untimed);
  EXPECT_EQ(text_of({step}), "9: 0-4; ");
}

}  // namespace
}  // namespace elixir::train
