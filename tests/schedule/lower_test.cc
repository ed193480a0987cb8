// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "core/error.h"
#include "fakes/program_builder.h"
#include "schedule/buffers/buffers.h"
#include "schedule/loads/belady.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::lay_out;
using fakes::LayoutOptions;
using plan::Home;

Schedule lower_plan(const program::Program& program,
                    const plan::Plan& plan,
                    const LoweringOptions& options = {}) {
  return lower(program, program::analyse_lifetimes(program), plan, options);
}

std::vector<TaskKind> kinds(const Schedule& schedule) {
  std::vector<TaskKind> result;
  for (const Task& task : schedule.tasks) result.push_back(task.kind);
  return result;
}

std::int64_t count(const Schedule& schedule, TaskKind kind) {
  const auto all = kinds(schedule);
  return std::count(all.begin(), all.end(), kind);
}

TEST(Lower, RefusesMoreMicroBatchesThanAScheduleMayHave) {
  const program::Program program = fakes::transformer({.layers = 30});
  plan::Plan plan = lay_out(program, {});
  plan.accumulation_steps = 65'536;
  try {
    (void)lower_plan(program, plan);
    ADD_FAILURE() << "lowered";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInconsistentPlan);
  }
}

TEST(Belady, LoadsTheDesignsVectorSixTimes) {
  EXPECT_EQ(belady_loads({{0}, {1, 2}, {3}, {3}, {1, 2}, {0}}, 2).size(), 6U);
}

/// The fewest loads, found by trying every victim.
int fewest_loads(const std::vector<std::vector<std::int32_t>>& steps,
                 std::size_t t,
                 std::vector<std::int32_t> held,
                 std::size_t blocks) {
  if (t == steps.size()) return 0;
  for (const std::int32_t chunk : steps[t]) {
    if (std::find(held.begin(), held.end(), chunk) != held.end()) continue;
    if (held.size() < blocks) {
      held.push_back(chunk);
      return 1 + fewest_loads(steps, t, held, blocks);
    }
    int best = std::numeric_limits<int>::max();
    for (std::size_t b = 0; b < held.size(); ++b) {
      if (std::find(steps[t].begin(), steps[t].end(), held[b]) != steps[t].end()) continue;
      std::vector<std::int32_t> next = held;
      next[b] = chunk;
      best = std::min(best, 1 + fewest_loads(steps, t, next, blocks));
    }
    return best;
  }
  return fewest_loads(steps, t + 1, held, blocks);
}

TEST(Belady, LoadsAsFewChunksAsExhaustiveSearch) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t blocks = 2 + random() % 2;
    std::vector<std::vector<std::int32_t>> steps;
    for (int t = 0; t < 9; ++t) {
      std::vector<std::int32_t> step = {static_cast<std::int32_t>(random() % 5)};
      const auto other = static_cast<std::int32_t>(random() % 5);
      if (other != step[0]) step.push_back(other);
      steps.push_back(step);
    }
    EXPECT_EQ(static_cast<int>(belady_loads(steps, static_cast<std::int64_t>(blocks)).size()),
              fewest_loads(steps, 0, {}, blocks))
        << "round " << round;
  }
}

TEST(Belady, RefusesAStepThatNeedsMoreChunksThanBlocks) {
  EXPECT_THROW((void)belady_loads({{0, 1, 2}}, 2), Error);
}

TEST(Lower, EverythingOnTheDeviceMovesNothingButInputsAndLoss) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  const Schedule schedule = lower_plan(program, lay_out(program, {}));
  for (const Task& task : schedule.tasks) {
    if (task.stream == Stream::kHostToDevice) {
      EXPECT_EQ(task.kind, TaskKind::kLoadInputs);
    } else if (task.stream == Stream::kDeviceToHost) {
      EXPECT_EQ(task.kind, TaskKind::kReadLoss);
    }
  }
  EXPECT_EQ(count(schedule, TaskKind::kUpdate), 4);
  EXPECT_EQ(count(schedule, TaskKind::kStoreGradient), 4);
}

TEST(Lower, ComputeRangesFollowEachOtherAndEndWithAnEmptyOne) {
  const program::Program program = fakes::transformer({});
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 4;
  options.accumulation_steps = 3;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  std::map<int, program::OperatorId> end;
  std::map<int, int> empty;
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kCompute) continue;
    EXPECT_EQ(task.first, end[task.micro_batch]);
    end[task.micro_batch] = task.last;
    if (task.first == task.last) ++empty[task.micro_batch];
  }
  ASSERT_EQ(end.size(), 3U);
  for (int m = 0; m < 3; ++m) {
    EXPECT_EQ(end[m], static_cast<int>(program.operators.size()));
    EXPECT_EQ(empty[m], 1);
  }
}

TEST(Lower, FetchesGoAsSoonAsTheirBlockIsFree) {
  const program::Program program = fakes::mlp({8, 8, 8, 8, 8}, 4);
  LayoutOptions options;
  options.parameters = Home::kHost;
  options.chunk_bytes = 512;  // weight and bias of a layer
  options.blocks = 2;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  // The first two are issued before any compute, each later one right after its eviction.
  std::vector<TaskKind> order = kinds(schedule);
  EXPECT_EQ(order[0], TaskKind::kLoadInputs);
  EXPECT_EQ(order[1], TaskKind::kFetch);
  EXPECT_EQ(order[2], TaskKind::kFetch);
  EXPECT_EQ(order[3], TaskKind::kCompute);
  for (std::size_t i = 3; i < order.size(); ++i) {
    if (order[i] != TaskKind::kFetch) continue;
    EXPECT_EQ(order[i - 1], TaskKind::kEvict);
    EXPECT_THAT(schedule.tasks[i].after, ::testing::Contains(static_cast<TaskId>(i) - 1));
  }
  // Uses are 0 1 2 3 3 2 1. (The input has no gradient, so backward does not read layer 0.) 2
  // evicts 0, 3 evicts 1, and 1 is loaded again.
  EXPECT_EQ(count(schedule, TaskKind::kFetch), 5);
  EXPECT_EQ(count(schedule, TaskKind::kEvict), 3);
}

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
            2);
}

TEST(Lower, ClippingWaitsForEveryGradient) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  const Schedule schedule =
      lower_plan(program, lay_out(program, options), {.clip_gradients = true});
  const std::vector<TaskKind> order = kinds(schedule);
  const auto clip = std::find(order.begin(), order.end(), TaskKind::kClip);
  ASSERT_NE(clip, order.end());
  EXPECT_EQ(std::count(order.begin(), clip, TaskKind::kGradientNorm), 4);
  EXPECT_EQ(std::count(order.begin(), clip, TaskKind::kUpdate), 0);
  EXPECT_EQ(std::count(clip, order.end(), TaskKind::kUpdate), 4);
  EXPECT_EQ(schedule.tasks[static_cast<std::size_t>(clip - order.begin())].stream, Stream::kCompute)
      << "no update on the device waits for the host";
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

TEST(Lower, WithoutClippingTheLastLayerIsUpdatedBeforeTheFirstIsDone) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  const std::vector<TaskKind> order = kinds(lower_plan(program, lay_out(program, options)));
  const auto update = std::find(order.begin(), order.end(), TaskKind::kUpdate);
  EXPECT_NE(std::find(update, order.end(), TaskKind::kStoreGradient), order.end());
}

TEST(Lower, UpdatesElsewhereMoveGradientsThereAndParametersBack) {
  const program::Program program = fakes::mlp({8, 8}, 4, program::DType::kBFloat16);
  LayoutOptions options;
  options.optimizer = Home::kHost;
  const plan::Plan plan = lay_out(program, options);
  const Schedule schedule = lower_plan(program, plan);
  for (const Task& task : schedule.tasks) {
    const auto role = [&](BufferId id) { return schedule.buffers[id].role; };
    if (task.kind == TaskKind::kMoveGradients) {
      EXPECT_EQ(task.stream, Stream::kDeviceToHost);
      EXPECT_EQ(role(task.source), BufferRole::kGradients);
      EXPECT_EQ(role(task.destination), BufferRole::kHostStaging);
    }
    if (task.kind == TaskKind::kUpdate) {
      EXPECT_EQ(task.stream, Stream::kCpu);
      EXPECT_EQ(role(task.source), BufferRole::kHostStaging);
      EXPECT_EQ(role(task.destination), BufferRole::kHostStaging);
    }
    if (task.kind == TaskKind::kMoveParameters) {
      EXPECT_EQ(task.stream, Stream::kDeviceUpdate);
      EXPECT_EQ(role(task.destination), BufferRole::kParameters);
    }
  }
  EXPECT_EQ(count(schedule, TaskKind::kMoveGradients), 2);
  EXPECT_EQ(count(schedule, TaskKind::kMoveParameters), 2);
}

TEST(Lower, AnFp32MasterElsewhereIsMovedHomeAsItIs) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  LayoutOptions options;
  options.optimizer = Home::kHost;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kMoveParameters) continue;
    EXPECT_EQ(schedule.buffers[task.source].role, BufferRole::kMaster);
  }
}

TEST(Lower, ForwardOnlyRunsForwardAndReleasesEverything) {
  const program::Program program = fakes::transformer({});
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 4;
  const Schedule schedule = lower_plan(program, lay_out(program, options), {.training = false});
  for (const Task& task : schedule.tasks) {
    if (task.kind == TaskKind::kCompute) {
      for (program::OperatorId op = task.first; op < task.last; ++op) {
        EXPECT_EQ(program.operators[op].phase, program::Phase::kForward);
      }
    } else {
      EXPECT_TRUE(task.kind == TaskKind::kFetch || task.kind == TaskKind::kEvict ||
                  task.kind == TaskKind::kReadLoss || task.kind == TaskKind::kLoadInputs)
          << name_of(task.kind);
    }
  }
}

TEST(Lower, FrozenAndUnusedParametersHaveNoGradientsAndNoUpdate) {
  fakes::TransformerOptions shape;
  shape.frozen_layers = 2;
  const program::Program program = fakes::transformer(shape);
  const plan::Plan plan = lay_out(program, {});
  const Schedule schedule = lower_plan(program, plan);
  for (const Task& task : schedule.tasks) {
    if (task.kind == TaskKind::kUpdate) {
      EXPECT_TRUE(plan::is_trained(plan.chunks[task.chunk], program));
    }
  }
  EXPECT_GT(count(schedule, TaskKind::kUpdate), 0);
}

TEST(Lower, TooFewBlocksAreRefused) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  LayoutOptions options;
  options.parameters = Home::kHost;
  options.blocks = 1;  // weight and bias are two chunks
  const plan::Plan plan = lay_out(program, options);
  try {
    (void)lower_plan(program, plan);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInconsistentPlan);
  }
}

TEST(Lower, IsDeterministic) {
  const program::Program program = fakes::random_program(3);
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 8;
  const plan::Plan plan = lay_out(program, options);
  const Schedule a = lower_plan(program, plan);
  const Schedule b = lower_plan(program, plan);
  ASSERT_EQ(a.tasks.size(), b.tasks.size());
  for (std::size_t i = 0; i < a.tasks.size(); ++i) {
    EXPECT_EQ(a.tasks[i].kind, b.tasks[i].kind);
    EXPECT_EQ(a.tasks[i].after, b.tasks[i].after);
    EXPECT_EQ(a.tasks[i].releases, b.tasks[i].releases);
  }
}

TEST(EndsThatMatter, AreThoseThatAnotherStreamOrTheHostMustKnow) {
  Schedule schedule;
  const auto add = [&](Stream stream, TaskKind kind, std::vector<TaskId> after) {
    Task& task = schedule.tasks.emplace_back();
    task.id = static_cast<TaskId>(schedule.tasks.size()) - 1;
    task.stream = stream;
    task.kind = kind;
    task.after = std::move(after);
  };
  add(Stream::kHostToDevice, TaskKind::kFetch, {});      // 0: compute waits
  add(Stream::kCompute, TaskKind::kCompute, {0});        // 1: only its own stream waits
  add(Stream::kCompute, TaskKind::kCompute, {1});        // 2: a copy waits
  add(Stream::kDeviceToHost, TaskKind::kReadLoss, {2});  // 3: the host waits
  add(Stream::kDeviceToHost, TaskKind::kOffload, {2});   // 4: the next step waits
  add(Stream::kDeviceToHost, TaskKind::kOffload, {2});   // 5: the last of its stream
  add(Stream::kHostToDevice, TaskKind::kFetch, {});      // 6: nobody waits
  add(Stream::kHostToDevice, TaskKind::kFetch, {});      // 7: the last of its stream
  add(Stream::kCompute, TaskKind::kCompute, {});         // 8: the last of its stream
  schedule.tasks[1].after_previous = {4};
  EXPECT_THAT(ends_that_matter(schedule),
              ::testing::ElementsAre(true, false, true, true, true, true, false, true, true));
  EXPECT_TRUE(ends_that_matter({}).empty());
}

}  // namespace
}  // namespace elixir::schedule
