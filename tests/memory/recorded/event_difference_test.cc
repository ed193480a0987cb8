// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/recorded/event_difference.h"

#include <gtest/gtest.h>

namespace elixir::memory {
namespace {

/// Two steps of two calls. The second call's request is freed with that of the first.
TrainingEvents predicted() {
  TrainingEvents events;
  events.allocations = {{.bytes = 100},
                        {.bytes = 8, .at = 0, .step = 1},
                        {.bytes = 16, .at = 1, .step = 1},
                        {.bytes = 8, .at = 0, .step = 2},
                        {.bytes = 16, .at = 1, .step = 2}};
  events.events = {{false, 0, -1},
                   {false, 1, 0},
                   {false, 2, 1},
                   {true, 1, 1},
                   {true, 2, 1},
                   {false, 3, 0},
                   {false, 4, 1},
                   {true, 3, 1},
                   {true, 4, 1}};
  events.step_ends = {5, 9};
  return events;
}

RecordedEvent request(std::int64_t allocation, std::int64_t bytes) {
  return {.kind = RecordedEvent::Kind::kAllocate, .allocation = allocation, .bytes = bytes};
}
RecordedEvent release(std::int64_t allocation) {
  return {.kind = RecordedEvent::Kind::kFree, .allocation = allocation};
}

/// As predicted, except for the order of releases and events that are not requests.
std::vector<RecordedEvent> recorded() {
  return {request(0, 100),
          request(1, 8),
          {.kind = RecordedEvent::Kind::kDevice},
          request(2, 16),
          release(2),
          release(1),
          {.kind = RecordedEvent::Kind::kPeaks},
          request(3, 8),
          request(4, 16),
          release(3),
          release(4)};
}

TEST(EventDifference, OrderOfReleasesBetweenRequestsDoesNotCount) {
  EXPECT_FALSE(first_difference(predicted(), recorded()));
}

TEST(EventDifference, NamesTheCallOfAnotherSize) {
  auto events = recorded();
  events[8].bytes = 17;
  const auto difference = first_difference(predicted(), events);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->event, 6U);
  EXPECT_EQ(difference->step, 2);
  EXPECT_EQ(difference->at, 1);
  EXPECT_EQ(difference->predicted, "a request of 16 bytes");
  EXPECT_EQ(difference->recorded, "a request of 17 bytes");
}

TEST(EventDifference, KnowsWhichRequestAReleaseEnds) {
  auto events = recorded();
  events.erase(events.begin() + 5);  // the second of two releases
  const auto difference = first_difference(predicted(), events);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->event, 3U);
  EXPECT_EQ(difference->predicted, "the end of a request of 8 bytes");
  EXPECT_EQ(difference->recorded, "the end of a request of 16 bytes");
}

TEST(EventDifference, OneMayEndBeforeTheOther) {
  auto events = recorded();
  events.resize(8);
  const auto shorter = first_difference(predicted(), events);
  ASSERT_TRUE(shorter);
  EXPECT_EQ(shorter->recorded, "nothing more");
  EXPECT_EQ(shorter->at, 1);
  events = recorded();
  events.push_back(request(5, 4096));
  const auto longer = first_difference(predicted(), events);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->predicted, "nothing more");
  EXPECT_EQ(longer->recorded, "a request of 4,096 bytes");
  EXPECT_EQ(longer->step, 2);
}

TEST(EventDifference, NothingEqualsNothing) {
  EXPECT_FALSE(first_difference({}, {}));
  const auto difference = first_difference({}, {request(0, 1)});
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->at, -1);
}

}  // namespace
}  // namespace elixir::memory
