// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Where gradients go, and when their storages do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/units.h"
#include "fakes/program_builder.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/lowered.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::count;
using fakes::lay_out;
using fakes::LayoutOptions;
using fakes::lower_plan;
using plan::Home;

TEST(Lower, WindowZeroWaitsForEveryGradientBeforeComputingOn) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  std::vector<TaskId> copies;
  for (const Task& task : schedule.tasks) {
    if (task.kind == TaskKind::kStoreGradient) {
      EXPECT_EQ(task.stream, Stream::kDeviceToHost);
      copies.push_back(task.id);
    }
    if (task.kind == TaskKind::kCompute && !copies.empty()) {
      EXPECT_THAT(task.after, ::testing::Contains(copies.back()));
      EXPECT_EQ(task.releases.size(), copies.size() + (task.first == task.last ? 1 : 0));
      copies.clear();
    }
  }
}

TEST(Lower, AWideWindowWaitsAtTheEndAlone) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  options.gradient_window_bytes = 1_MiB;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kCompute) continue;
    EXPECT_EQ(task.releases.empty(), task.first != task.last);
  }
}

TEST(Lower, SeveralMicroBatchesAddUpOnTheHostThroughLandingBuffersThatTakeTurns) {
  const program::Program program = fakes::mlp({8, 8, 8, 8, 8, 8}, 4);
  for (const int world : {1, 2}) {
    LayoutOptions options;
    options.gradients = options.optimizer = Home::kHost;
    options.accumulation_steps = 2;
    options.world = world;
    options.blocks = world == 1 ? 0 : 10;
    const plan::Plan plan = lay_out(program, options);
    ASSERT_EQ(plan.chunks.size(), 10U);
    const Schedule schedule = lower_plan(program, plan);
    const auto landing =
        std::count_if(schedule.buffers.begin(), schedule.buffers.end(), [](const Buffer& buffer) {
          return buffer.role == BufferRole::kGradientLanding;
        });
    EXPECT_EQ(landing, landing_buffers(plan.chunks.size(), 1));
    EXPECT_EQ(landing, 5);
    EXPECT_EQ(count(schedule, TaskKind::kAccumulate), 20);
    std::map<BufferId, TaskId> first_store, last_sum;
    for (const Task& task : schedule.tasks) {
      const bool lands =
          task.kind == (world == 1 ? TaskKind::kStoreGradient : TaskKind::kStoreShard);
      if (lands && last_sum.contains(task.destination)) {
        EXPECT_THAT(task.after, ::testing::Contains(last_sum.at(task.destination)));
      }
      if (lands) first_store.emplace(task.destination, task.id);
      if (task.kind == TaskKind::kAccumulate) last_sum[task.source] = task.id;
    }
    EXPECT_EQ(first_store.size(), 5U);
    for (const auto& [buffer, store] : first_store) {
      EXPECT_THAT(schedule.tasks[store].after_previous, ::testing::Contains(last_sum.at(buffer)));
    }
  }
}

TEST(Lower, GradientsOfAChunkShareALandingBuffer) {
  const program::Program program = fakes::mlp({8, 8, 8, 8, 8}, 4);
  LayoutOptions options;
  options.chunk_bytes = 600;  // a layer
  options.gradients = options.optimizer = Home::kHost;
  options.accumulation_steps = 3;
  const plan::Plan plan = lay_out(program, options);
  ASSERT_EQ(plan.chunks.size(), 4U);
  const Schedule schedule = lower_plan(program, plan);
  std::map<std::pair<int, std::int32_t>, BufferId> landed;  // by micro-batch and chunk
  int waits = 0;
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kStoreGradient) continue;
    const auto [place, is_first] =
        landed.emplace(std::make_pair(task.micro_batch, task.chunk), task.destination);
    EXPECT_EQ(place->second, task.destination);
    const bool waits_for_sum =
        std::any_of(task.after.begin(), task.after.end(), [&](TaskId before) {
          return schedule.tasks[before].kind == TaskKind::kAccumulate;
        });
    waits += waits_for_sum ? 1 : 0;
    if (!is_first) {
      EXPECT_FALSE(waits_for_sum);
    }
  }
  EXPECT_EQ(landed.size(), 12U);
  EXPECT_EQ(waits, 10);  // all but the first two, which find the two buffers unused
}

TEST(Lower, LandingBuffersAreHalfOfWhatLandsButSixteenAtMost) {
  EXPECT_EQ(landing_buffers(0, 0), 0);
  EXPECT_EQ(landing_buffers(100, 100), 1);
  EXPECT_EQ(landing_buffers(101, 100), 2);
  EXPECT_EQ(landing_buffers(1000, 100), 5);
  EXPECT_EQ(landing_buffers(100'000, 100), 16);
}

TEST(Lower, SeveralRanksGatherWhatTheyUseAndReduceWhatTheyMake) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  for (const Home home : {Home::kDevice, Home::kHost}) {
    LayoutOptions options{.parameters = home, .gradients = home, .optimizer = home};
    options.blocks = 4;
    options.accumulation_steps = 2;
    options.world = 2;
    const plan::Plan plan = lay_out(program, options);
    const Schedule schedule = lower_plan(program, plan, {.clip_gradients = true});
    const auto chunks = static_cast<std::int64_t>(plan.chunks.size());
    const bool on_host = home == Home::kHost;
    EXPECT_EQ(count(schedule, TaskKind::kGather), chunks);
    EXPECT_EQ(count(schedule, TaskKind::kFetch), on_host ? chunks : 0);
    EXPECT_EQ(count(schedule, TaskKind::kReduce), 2 * chunks);
    EXPECT_EQ(count(schedule, TaskKind::kStoreShard), on_host ? 2 * chunks : 0);
    EXPECT_EQ(count(schedule, TaskKind::kAccumulate), on_host ? 2 * chunks : 0);
    EXPECT_EQ(count(schedule, TaskKind::kGatherSums), 1);
    for (const Task& task : schedule.tasks) {
      if (task.kind == TaskKind::kFetch) {
        EXPECT_EQ(2 * task.bytes, plan.chunks[task.chunk].bytes);
      }
      if (task.kind == TaskKind::kReduce) {
        EXPECT_EQ(task.sums_squares, task.micro_batch == 1 && !on_host);
      }
    }
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.role != BufferRole::kMaster && buffer.role != BufferRole::kMoment1) continue;
      EXPECT_EQ(2 * buffer.bytes, plan.chunks[buffer.chunk].bytes);
    }
  }
}

TEST(Lower, RanksThatReduceOnceAStepAddUpTheirMicroBatchesFirst) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4, program::DType::kBFloat16);
  for (const Home home : {Home::kDevice, Home::kHost}) {
    LayoutOptions options{.parameters = home, .gradients = home, .optimizer = home};
    options.blocks = 4;
    options.accumulation_steps = 3;
    options.world = 2;
    options.reduce_per = plan::ReducePer::kStep;
    const plan::Plan plan = lay_out(program, options);
    const Schedule schedule = lower_plan(program, plan, {.clip_gradients = true});
    const auto chunks = static_cast<std::int64_t>(plan.chunks.size());
    EXPECT_EQ(count(schedule, TaskKind::kStoreGradient), 3 * 4);
    EXPECT_EQ(count(schedule, TaskKind::kReduce), chunks);
    EXPECT_EQ(count(schedule, TaskKind::kStoreShard), home == Home::kHost ? chunks : 0);
    EXPECT_EQ(count(schedule, TaskKind::kAccumulate), 0);
    std::map<std::int32_t, BufferId> block_of;  // by chunk
    for (const Task& task : schedule.tasks) {
      if (task.kind == TaskKind::kReduce) {
        EXPECT_EQ(task.micro_batch, 2);
        EXPECT_TRUE(task.sums_squares);
        EXPECT_FALSE(adds_to_sum(task, plan));
        EXPECT_EQ(task.bytes, 2 * plan.chunks[task.chunk].bytes) << "fp32";
      }
      if (task.kind == TaskKind::kStoreGradient) {
        EXPECT_EQ(block_of.try_emplace(task.chunk, task.destination).first->second,
                  task.destination);
      }
    }
    for (const auto& [chunk, block] : block_of) {
      EXPECT_EQ(schedule.buffers[block].chunk, chunk);
      EXPECT_EQ(schedule.buffers[block].bytes, 2 * plan.chunks[chunk].bytes);
    }
  }
}

TEST(Lower, ProductsWriteTheirGradientsWhereRanksCollectThem) {
  const program::Program program = fakes::products({8, 8, 8, 8, 8, 8}, 4);
  LayoutOptions options;  // a chunk for each weight
  options.blocks = 8;
  options.world = 2;
  options.accumulation_steps = 2;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  EXPECT_EQ(count(schedule, TaskKind::kStoreGradient), 0);
  std::map<BufferId, TaskId> last_reduce;
  int made = 0, waits = 0;
  for (const Task& task : schedule.tasks) {
    if (task.kind == TaskKind::kReduce) last_reduce[task.source] = task.id;
    for (const DirectGradient& direct : task.direct) {
      EXPECT_EQ(task.kind, TaskKind::kCompute);
      ++made;
      if (!last_reduce.contains(direct.block)) continue;
      EXPECT_THAT(task.after, ::testing::Contains(last_reduce.at(direct.block)));
      ++waits;
    }
  }
  EXPECT_EQ(made, 2 * 5);
  EXPECT_EQ(last_reduce.size(), 3U);
  EXPECT_EQ(waits, 2 * 5 - 3);  // all but those that find the blocks unused
}

TEST(Lower, WhatIsNoProductIsCopiedToItsBlock) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.blocks = 8;
  options.world = 2;
  std::map<bool, int> made, copied;  // by whether it is a weight
  const auto is_weight = [&](std::int32_t parameter) {
    return program.parameters[parameter].tensor.sizes.size() == 2;
  };
  for (const Task& task : lower_plan(program, lay_out(program, options)).tasks) {
    if (task.kind == TaskKind::kStoreGradient) ++copied[is_weight(task.parameter)];
    for (const DirectGradient& direct : task.direct) ++made[is_weight(direct.parameter)];
  }
  EXPECT_THAT(made, ::testing::ElementsAre(::testing::Pair(true, 2)));
  EXPECT_THAT(copied, ::testing::ElementsAre(::testing::Pair(false, 2)));
}

TEST(Lower, ABlockIsAwaitedOnceForAllGradientsThatComeIntoIt) {
  for (const bool with_bias : {false, true}) {
    const std::vector<std::int64_t> widths{8, 8, 8, 8, 8, 8, 8};
    const program::Program program = with_bias ? fakes::mlp(widths, 4) : fakes::products(widths, 4);
    LayoutOptions options;
    options.chunk_bytes = with_bias ? 1024 : 512;  // two layers
    options.blocks = 8;
    options.world = 2;
    options.accumulation_steps = 3;
    const plan::Plan plan = lay_out(program, options);
    ASSERT_EQ(plan.chunks.size(), 3U);
    const Schedule schedule = lower_plan(program, plan);
    std::ptrdiff_t waits = 0;
    for (const Task& task : schedule.tasks) {
      if (task.stream != Stream::kCompute || task.kind == TaskKind::kUpdate) continue;
      waits += std::count_if(task.after.begin(), task.after.end(), [&](TaskId before) {
        return schedule.tasks[before].kind == TaskKind::kReduce;
      });
    }
    EXPECT_EQ(waits, 9 - 3);
  }
}

TEST(Lower, OneChunksGradientsAreAddedUpWhileTheNextOnesAreMade) {
  const program::Program program = fakes::mlp({8, 8, 8, 8, 8}, 4);
  LayoutOptions options;
  options.chunk_bytes = 600;  // a layer
  options.blocks = 8;
  options.world = 2;
  const plan::Plan plan = lay_out(program, options);
  ASSERT_EQ(plan.chunks.size(), 4U);
  const Schedule schedule = lower_plan(program, plan);
  BufferId before = -1;
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kReduce) continue;
    EXPECT_NE(task.source, before);
    before = task.source;
  }
  EXPECT_EQ(std::count_if(schedule.buffers.begin(),
                          schedule.buffers.end(),
                          [](const Buffer& b) { return b.role == BufferRole::kGradientBlock; }),
            3);
}

TEST(Lower, WhateverPassCompletesAGradientSumsItsSquares) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  const auto summed = [&](Home gradients, int micro_batches) {
    LayoutOptions options;
    options.gradients = options.optimizer = gradients;
    options.accumulation_steps = micro_batches;
    std::map<TaskKind, int> tasks;
    for (const Task& task :
         lower_plan(program, lay_out(program, options), {.clip_gradients = true}).tasks) {
      const bool sums = task.sums_squares || task.kind == TaskKind::kGradientNorm;
      if (!sums) continue;
      EXPECT_EQ(task.micro_batch, micro_batches - 1);
      ++tasks[task.kind];
    }
    return tasks;
  };
  using Tasks = std::map<TaskKind, int>;
  EXPECT_EQ(summed(Home::kDevice, 1), (Tasks{{TaskKind::kStoreGradient, 4}}));
  EXPECT_EQ(summed(Home::kDevice, 3), (Tasks{{TaskKind::kStoreGradient, 4}}));
  EXPECT_EQ(summed(Home::kHost, 1), (Tasks{{TaskKind::kGradientNorm, 4}}));
  EXPECT_EQ(summed(Home::kHost, 3), (Tasks{{TaskKind::kAccumulate, 4}}));
}

}  // namespace
}  // namespace elixir::schedule
