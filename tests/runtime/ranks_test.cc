// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Several ranks, each a process with a CPU device: every placement gives the same bits, and those
// of one process with as many micro-batches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/rank_training.h"
#include "runtime/ranks/shared_host_memory.h"

namespace elixir::runtime {
namespace {

/// Recomputes, lets a rank come late, and shuffles tasks by each of `seeds`: the bits are
/// `expected`.
void expect_in_other_orders(RankTraining training,
                            const std::string& expected,
                            const std::vector<std::uint64_t>& seeds) {
  training.recomputes = true;
  EXPECT_TRUE(train_on_ranks(training) == expected);
  training.order = {CpuOrder::Kind::kLanes};
  training.late_ms = 50;
  EXPECT_TRUE(train_on_ranks(training) == expected);
  training.late_ms = 0;
  for (const std::uint64_t seed : seeds) {
    training.order = {CpuOrder::Kind::kShuffled, seed};
    EXPECT_TRUE(train_on_ranks(training) == expected) << seed;
  }
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, HaveTheBitsOfOneProcessWithAsManyMicroBatches) {
  const int world = GetParam();
  RankTraining alone{.placement = kAllOnDevice};
  alone.placement.clips = true;
  alone.placement.accumulation_steps = world;
  const std::string expected = train_alone(alone);
  for (std::size_t i = 0; i < placements(world).size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(train_on_ranks({.placement = placements(world)[i]}) == expected);
  }
}

TEST_P(Worlds, SkipTheSameStepsAsOneProcess) {
  const int world = GetParam();
  RankTraining alone{.placement = kAllOnDevice,
                     .loss_scale = LossScaleOptions{.initial = 0x1p180, .backoff = 0x1p-40}};
  alone.placement.clips = true;
  alone.placement.accumulation_steps = world;
  alone.last_step = 5;
  const std::string expected = train_alone(alone);
  EXPECT_NE(expected.find(" skipped"), std::string::npos);
  for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
    SCOPED_TRACE(i);
    RankTraining ranks = alone;
    ranks.placement = placements(world)[i];
    EXPECT_TRUE(train_on_ranks(ranks) == expected);
  }
}

TEST_P(Worlds, GiveTheSameBitsUnderEveryPlacementWithSeveralMicroBatches) {
  const int world = GetParam();
  std::string expected;
  for (const bool clips : {true, false}) {
    for (Placement placement : placements(world)) {
      placement.accumulation_steps = 2;
      placement.clips = clips;
      const std::string bits = train_on_ranks({.placement = placement});
      if (expected.empty()) expected = bits;
      EXPECT_TRUE(bits == expected);
    }
    expected.clear();
  }
}

TEST_P(Worlds, GiveTheSameBitsUnderEveryPlacementWhenTheyReduceOnceAStep) {
  std::string expected;
  std::string after_each_micro_batch;
  for (Placement placement : placements(GetParam())) {
    placement.accumulation_steps = 3;
    if (expected.empty()) after_each_micro_batch = train_on_ranks({.placement = placement});
    placement.reduce_per = plan::ReducePer::kStep;
    const std::string bits = train_on_ranks({.placement = placement});
    if (expected.empty()) expected = bits;
    EXPECT_TRUE(bits == expected);
  }
  EXPECT_FALSE(after_each_micro_batch == expected) << "sums have another order";
}

// CPUs add up in rank order, whoever is to do it: what is left is that the sum is rounded to the
// dtype of the gradients.
TEST_P(Worlds, GiveTheSameBitsUnderEveryPlacementThroughTheirLibrary) {
  for (const int replicas : {1, GetParam()}) {
    SCOPED_TRACE(testing::Message() << replicas << " replicas");
    std::string expected;
    for (const std::size_t i : {0, 2, 3}) {
      Placement placement = placements(GetParam())[i];
      placement.accumulation_steps = 2;
      placement.reduced_by = plan::Reduce::kNccl;
      placement.replicas = replicas;
      const std::string bits = train_on_ranks({.placement = placement});
      if (expected.empty()) expected = bits;
      EXPECT_TRUE(bits == expected);
      if (i > 0) continue;
      placement.reduce_per = plan::ReducePer::kStep;  // in fp32
      const std::string once = train_on_ranks({.placement = placement});
      placement.reduced_by = plan::Reduce::kOrdered;
      EXPECT_TRUE(train_on_ranks({.placement = placement}) == once);
    }
    Placement ordered = placements(GetParam()).front();
    ordered.accumulation_steps = 2;
    EXPECT_FALSE(train_on_ranks({.placement = ordered}) == expected) << "it is arithmetic";
  }
}

// Else the tests of this file would try little.
TEST_P(Worlds, DivideTheParametersAmongAllRanks) {
  RankTraining training{.placement = placements(GetParam()).front(), .last_step = 1};
  training.begins = [](Trainer& trainer, const Ranks& ranks) {
    std::int64_t held = 0;
    for (const program::Parameter& parameter : trainer.program().parameters) {
      held += trainer.held(parameter.name, ranks.rank()).count;
    }
    if (held == 0) throw Error(ErrorCode::kInternal, "rank {} holds nothing", ranks.rank());
  };
  EXPECT_EQ(train_on_ranks(training).find("error"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(2, 3, 4));

/// Ranks, and how many replicas of everything they hold.
class Replicas : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  static Placement in_replicas(Placement placement) {
    placement.replicas = GetParam().second;
    return placement;
  }
};

TEST_P(Replicas, HaveTheBitsOfOneProcessWithAsManyMicroBatches) {
  RankTraining alone{.placement = kAllOnDevice};
  alone.placement.clips = true;
  alone.placement.accumulation_steps = GetParam().first;
  const std::string expected = train_alone(alone);
  for (const Placement& placement : placements(GetParam().first)) {
    EXPECT_TRUE(train_on_ranks({.placement = in_replicas(placement)}) == expected);
  }
}

TEST_P(Replicas, HaveTheBitsOfASingleOneWithSeveralMicroBatches) {
  std::string expected;
  for (const bool clips : {true, false}) {
    for (Placement placement : placements(GetParam().first)) {
      placement.accumulation_steps = 2;
      placement.clips = clips;
      if (expected.empty()) expected = train_on_ranks({.placement = placement});
      EXPECT_TRUE(train_on_ranks({.placement = in_replicas(placement)}) == expected);
    }
    expected.clear();
  }
}

TEST_P(Replicas, HaveTheBitsOfASingleOneWhenTheyReduceOnceAStep) {
  for (Placement placement : placements(GetParam().first)) {
    placement.accumulation_steps = 2;
    placement.reduce_per = plan::ReducePer::kStep;
    EXPECT_TRUE(train_on_ranks({.placement = in_replicas(placement)}) ==
                train_on_ranks({.placement = placement}));
  }
}

TEST_P(Replicas, ChangeNoBitsInOtherOrdersAndWithEdits) {
  RankTraining training{.placement = kAllOnHost};
  training.placement.world = GetParam().first;
  training.placement.clips = true;
  const std::string expected = train_on_ranks(training);
  training.placement = in_replicas(training.placement);
  expect_in_other_orders(training, expected, {5});
}

INSTANTIATE_TEST_SUITE_P(Ranks,
                         Replicas,
                         testing::Values(std::pair(2, 2), std::pair(4, 2), std::pair(4, 4)));

TEST(Ranks, EveryModelHasTheBitsOfOneProcess) {
  for (const std::string model : {"opt-tiny", "llama-tiny", "bert-tiny", "t5-tiny", "vit-tiny"}) {
    SCOPED_TRACE(model);
    RankTraining alone{.model = model};
    alone.placement.accumulation_steps = 2;
    alone.placement.clips = true;
    const std::string expected = train_alone(alone);
    RankTraining two{.model = model, .placement = kAllOnHost};
    two.placement.world = 2;
    two.placement.clips = true;
    EXPECT_TRUE(train_on_ranks(two) == expected);
    two.placement.replicas = 2;
    EXPECT_TRUE(train_on_ranks(two) == expected);
  }
}

TEST(Ranks, BuffersThatAStepChangesAreThoseOfTheFirst) {
  RankTraining two{.model = "resnet-tiny", .placement = kAllOnHost};
  two.placement.world = 2;
  const std::string bits = train_on_ranks(two);
  two.placement = kAllOnDevice;
  two.placement.world = 2;
  EXPECT_TRUE(train_on_ranks(two) == bits);
  two.placement.replicas = 2;
  EXPECT_TRUE(train_on_ranks(two) == bits);
}

TEST(Ranks, OfOneMachineShareHostMemory) {
  const std::vector<std::string> seen = on_ranks(3, [](const Ranks& ranks) {
    const auto memory = SharedHostMemory::make(*ranks.control, 3 * sizeof(int));
    if (memory == nullptr) return std::string("none");
    auto* numbers = static_cast<int*>(memory->data());
    std::string text = fmt::format("{} then", numbers[ranks.rank()]);
    numbers[ranks.rank()] = 10 + ranks.rank();
    static_cast<void>(on_all_ranks(*ranks.control, true));
    for (int rank = 0; rank < 3; ++rank) text += fmt::format(" {}", numbers[rank]);
    return text;
  });
  EXPECT_EQ(seen, std::vector<std::string>(3, "0 then 10 11 12"));
}

TEST(Ranks, EditsChangeNoBits) {
  RankTraining training{.placement = kAllOnHost};
  training.placement.world = 2;
  training.placement.accumulation_steps = 2;
  training.placement.clips = true;
  const std::string expected = train_on_ranks(training);
  training.recomputes = true;
  EXPECT_TRUE(train_on_ranks(training) == expected);
  training.recomputes = false;
  training.offload_nth = 2;
  EXPECT_TRUE(train_on_ranks(training) == expected);
}

TEST(Ranks, ActivationsInMemoryOfGradientsChangeNoBits) {
  for (const int replicas : {1, 2}) {
    RankTraining training{.placement = kAllOnDevice};
    training.placement.world = 2;
    training.placement.replicas = replicas;
    training.placement.clips = true;
    const std::string expected = train_on_ranks(training);
    training.offload_nth = 1;
    EXPECT_TRUE(train_on_ranks(training) == expected);
  }
}

TEST(Ranks, OrdersAndEditsChangeNoBitsWhenTheyReduceOnceAStep) {
  RankTraining training{.placement = kAllOnHost};
  training.placement.world = 2;
  training.placement.accumulation_steps = 2;
  training.placement.clips = true;
  training.placement.reduce_per = plan::ReducePer::kStep;
  const std::string expected = train_on_ranks(training);
  expect_in_other_orders(training, expected, {0, 1, 2});
}

// Each rank's sum over its micro-batches is made first: with one rank, that is all there is.
TEST(Ranks, ThatReduceOnceAStepAddUpTheirMicroBatchesFirst) {
  RankTraining alone{.placement = kAllOnDevice};
  alone.placement.accumulation_steps = 2;
  const std::string expected = train_alone(alone);
  alone.placement.reduce_per = plan::ReducePer::kStep;
  EXPECT_TRUE(train_alone(alone) == expected);
}

TEST(Ranks, SumsMayBeRoundedToTheParametersDtype) {
  std::string expected;
  for (Placement placement : placements(2)) {
    placement.reduce = plan::ReduceDType::kParameters;
    const std::string bits = train_on_ranks({.placement = placement});
    if (expected.empty()) expected = bits;
    EXPECT_TRUE(bits == expected);
  }
  EXPECT_FALSE(train_on_ranks({.placement = placements(2).front()}) == expected);
}

TEST(Ranks, OrdersAndDelaysChangeNoBits) {
  RankTraining training{.placement = kAllOnHost};
  training.placement.world = 3;
  training.placement.clips = true;
  const std::string expected = train_on_ranks(training);
  training.order = {CpuOrder::Kind::kLanes};
  EXPECT_TRUE(train_on_ranks(training) == expected);
  training.late_ms = 150;
  EXPECT_TRUE(train_on_ranks(training) == expected);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    training.late_ms = 0;
    training.order = {CpuOrder::Kind::kShuffled, seed};
    EXPECT_TRUE(train_on_ranks(training) == expected) << seed;
  }
}

TEST(Ranks, OneThatEndsIsNamedByTheOthers) {
  const std::vector<std::string> texts = on_ranks(3, [](const Ranks& ranks) -> std::string {
    if (ranks.rank() == 1) return "gone";
    std::vector<char> all(3 << 20);
    try {
      for (;;) ranks.steps->all_gather(all.data(), all.data(), 1 << 20);
    } catch (const Error& error) {
      return fmt::format("{}: {}", code_text(error.info().code), error.info().message);
    }
  });
  EXPECT_EQ(texts[1], "gone");
  // Who sees it first ends too, and says why: the third does not miss that one instead.
  EXPECT_EQ(texts[0].find("EX0707: rank 0 lost rank 1 of 3: it has ended"), 0U) << texts[0];
  EXPECT_EQ(texts[2].find("EX0707: rank 2 lost rank 1 of 3: it has ended"), 0U) << texts[2];
}

TEST(Ranks, APlanForAnotherNumberIsRefused) {
  RankTraining training{.placement = kAllOnDevice};
  training.placement.world = 2;
  const std::string text = on_ranks(1, [&](const Ranks&) { return train(training, {}); }).front();
  EXPECT_NE(text.find("the plan is for 2 ranks, this training has 1"), std::string::npos) << text;
}

}  // namespace
}  // namespace elixir::runtime
