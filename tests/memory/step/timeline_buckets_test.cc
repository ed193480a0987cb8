// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/timeline_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "fakes/program_builder.h"

namespace elixir::memory {
namespace {

void check(const program::Program& program, std::size_t limit) {
  const Timeline timeline = make_timeline(program, 0);
  const auto buckets = timeline_buckets(program, timeline, limit);
  EXPECT_LE(buckets.size(), limit);
  program::OperatorId next = 0;
  bool has_peak = false;
  for (const TimelineBucket& bucket : buckets) {
    ASSERT_EQ(bucket.first, next);
    ASSERT_GT(bucket.end, bucket.first);
    next = bucket.end;
    const auto begin = timeline.allocated_bytes.begin();
    EXPECT_EQ(timeline.allocated_bytes[static_cast<std::size_t>(bucket.shown)],
              *std::max_element(begin + bucket.first, begin + bucket.end));
    EXPECT_EQ(program.operators[static_cast<std::size_t>(bucket.first)].phase,
              program.operators[static_cast<std::size_t>(bucket.end - 1)].phase);
    has_peak = has_peak || bucket.shown == timeline.peak_operator;
  }
  EXPECT_EQ(next, static_cast<program::OperatorId>(program.operators.size()));
  EXPECT_EQ(has_peak, !program.operators.empty());
}

TEST(TimelineBuckets, CoverEveryOperatorOnceAndKeepThePeak) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const std::size_t limit : {2, 3, 7, 20, 1000}) {
      check(fakes::random_program(seed), limit);
    }
  }
}

TEST(TimelineBuckets, AreOneOperatorEachWhereThereIsRoom) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  const auto buckets = timeline_buckets(program, make_timeline(program, 0), 1000);
  EXPECT_EQ(buckets.size(), program.operators.size());
}

TEST(TimelineBuckets, OfNothingAreNone) {
  const program::Program program = fakes::ProgramBuilder().build();
  EXPECT_TRUE(timeline_buckets(program, make_timeline(program, 0), 10).empty());
  EXPECT_EQ(first_backward(program), 0);
}

TEST(TimelineBuckets, FirstBackwardIsTheBoundary) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  const auto boundary = static_cast<std::size_t>(first_backward(program));
  EXPECT_EQ(program.operators.at(boundary).phase, program::Phase::kBackward);
  EXPECT_EQ(program.operators.at(boundary - 1).phase, program::Phase::kForward);
}

TEST(TimelineBuckets, NeedTwo) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  EXPECT_THROW((void)timeline_buckets(program, make_timeline(program, 0), 1), Error);
}

}  // namespace
}  // namespace elixir::memory
