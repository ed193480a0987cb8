// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "core/error.h"
#include "edit/offload.h"
#include "fakes/program_builder.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::LayoutOptions;
using plan::Home;
using ::testing::IsEmpty;
using ::testing::Not;

struct Case {
  program::Program program;
  plan::Plan plan;
  LoweringOptions lowering;
};

/// Any homes, windows and number of micro-batches, with or without clipping, chunk by chunk; any
/// activations on the host.
Case random_case(std::uint64_t seed) {
  std::mt19937_64 random(seed * 77 + 1);
  Case result;
  result.program = fakes::random_program(seed);
  if (random() % 2 == 0) {
    std::vector<program::StorageId> away = edit::offloadable(result.program);
    std::erase_if(away, [&](program::StorageId) { return random() % 3 == 0; });
    const auto window_bytes = static_cast<std::int64_t>(random() % 3 * 10'000);
    result.program = edit::offload(result.program, away, window_bytes);
  }
  LayoutOptions options;
  options.chunk_bytes = 256LL << (random() % 12);
  options.accumulation_steps = static_cast<int>(1 + random() % 3);
  options.gradient_window_bytes =
      random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 200'000);
  options.blocks = 1;
  if (seed % 2 == 1) options.world = static_cast<int>(2 + random() % 3);
  if (seed % 4 == 3) options.replicas = options.world == 4 && random() % 2 == 0 ? 2 : options.world;
  if (seed % 5 == 1) options.reduced_by = plan::Reduce::kNccl;
  if (seed % 3 == 0) options.reduce_per = plan::ReducePer::kStep;
  result.plan = fakes::lay_out(result.program, options);
  for (plan::Chunk& chunk : result.plan.chunks) {
    const auto home = [&] { return random() % 2 == 0 ? Home::kDevice : Home::kHost; };
    chunk.parameter_home = home();
    chunk.gradient_home = home();
    chunk.optimizer_home = home();
    chunk.streams_update = chunk.optimizer_home == Home::kHost && random() % 2 == 0;
  }
  result.plan.cache.update_piece_elements = 1024LL << (random() % 10);
  if (random() % 2 == 0) result.plan.master = plan::Master::kSplit;
  if (random() % 2 == 0) result.plan.moment_dtype = program::DType::kBFloat16;
  if (random() % 16 == 0) result.plan.optimizer = program::Optimizer::kNone;
  result.lowering.clip_gradients = random() % 2 == 0;
  result.plan.clips_gradients = result.lowering.clip_gradients || random() % 4 == 0;
  // A forward pass that changes running statistics may not run for evaluation. That has a separate
  // test.
  const bool evaluates = random() % 4 == 0 && !result.program.buffers[0].mutated;
  result.lowering.training = !evaluates;
  // The fewest blocks that work, plus some.
  for (;; ++result.plan.cache.blocks) {
    try {
      (void)lower(
          result.program, program::analyse_lifetimes(result.program), result.plan, result.lowering);
      break;
    } catch (const Error&) {
    }
  }
  result.plan.cache.blocks += static_cast<std::int64_t>(random() % 3);
  return result;
}

Schedule lower_case(const Case& c) {
  return lower(c.program, program::analyse_lifetimes(c.program), c.plan, c.lowering);
}

TEST(Check, FindsNothingInLoweredSchedulesOfRandomProgramsAndPlans) {
  int fetches = 0;
  int evictions = 0;
  int reloads = 0;
  int pieces = 0;
  int gathers = 0;
  int reductions = 0;
  int shares = 0;
  int reduced_once = 0;
  int reduced_by_nccl = 0;
  int shared_gradients = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    EXPECT_THAT(check(schedule, c.program, c.plan), IsEmpty()) << "seed " << seed;
    reduced_once += c.lowering.training && plan::reduces_once(c.plan) ? 1 : 0;
    reduced_by_nccl += c.lowering.training && plan::reduces_by_nccl(c.plan) ? 1 : 0;
    for (const Buffer& buffer : schedule.buffers) shared_gradients += buffer.shares >= 0 ? 1 : 0;
    for (const Task& task : schedule.tasks) {
      fetches += task.kind == TaskKind::kFetch ? 1 : 0;
      evictions += task.kind == TaskKind::kEvict ? 1 : 0;
      reloads += task.kind == TaskKind::kReload ? 1 : 0;
      pieces += task.kind == TaskKind::kStoreState ? 1 : 0;
      gathers += task.kind == TaskKind::kGather ? 1 : 0;
      reductions += task.kind == TaskKind::kReduce ? 1 : 0;
      shares += task.kind == TaskKind::kShareBuffers ? 1 : 0;
    }
  }
  EXPECT_GT(fetches, 1000);
  EXPECT_GT(evictions, 300);
  EXPECT_GT(reloads, 300);
  EXPECT_GT(pieces, 500);
  EXPECT_GT(gathers, 1000);
  EXPECT_GT(reductions, 1000);
  EXPECT_GT(shares, 20);
  EXPECT_GT(reduced_once, 20);
  EXPECT_GT(reduced_by_nccl, 20);
  EXPECT_GT(shared_gradients, 100);
}

/// The schedule without task `gone`. Tasks that waited for it wait for what it waited for.
Schedule without(const Schedule& schedule, TaskId gone) {
  Schedule result = schedule;
  result.tasks.erase(result.tasks.begin() + gone);
  for (Task& task : result.tasks) {
    if (task.id > gone) --task.id;
    for (std::vector<TaskId>* others : {&task.after, &task.after_previous}) {
      std::erase(*others, gone);
      for (TaskId& other : *others) other -= other > gone ? 1 : 0;
    }
  }
  return result;
}

TEST(Check, FindsEveryRemovedTask) {
  int removed = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    for (const Task& task : schedule.tasks) {
      // Without the clip task, nothing shows that clipping was requested.
      if (task.kind == TaskKind::kClip) continue;
      EXPECT_THAT(check(without(schedule, task.id), c.program, c.plan), Not(IsEmpty()))
          << "seed " << seed << ", task " << task.id << " " << name_of(task.kind);
      ++removed;
    }
  }
  EXPECT_GT(removed, 1000);
}

/// Whether the schedule lets `before`, of the first of two steps, end before `task` starts; tasks of
/// the second step are counted on.
bool implied(const Schedule& schedule, TaskId before, TaskId task) {
  const auto tasks = static_cast<TaskId>(schedule.tasks.size());
  std::vector<bool> reached(static_cast<std::size_t>(task) + 1, false);
  std::array<bool, kStreamCount> on_stream{};  // some task of the stream is reached
  reached[before] = true;
  on_stream[static_cast<std::size_t>(schedule.tasks[before].stream)] = true;
  for (TaskId t = before + 1; t <= task; ++t) {
    const bool second = t >= tasks;
    const Task& here = schedule.tasks[second ? t - tasks : t];
    bool waits = on_stream[static_cast<std::size_t>(here.stream)];
    for (const TaskId other : here.after) waits = waits || reached[second ? other + tasks : other];
    if (second) {
      for (const TaskId other : here.after_previous) waits = waits || reached[other];
    }
    reached[t] = waits;
    if (waits) on_stream[static_cast<std::size_t>(here.stream)] = true;
  }
  return reached[task];
}

TEST(Check, FindsEveryDroppedDependencyThatNothingElseImplies) {
  int dropped = 0;
  int dropped_between_steps = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    const auto tasks = static_cast<TaskId>(schedule.tasks.size());
    for (const Task& task : schedule.tasks) {
      for (const bool previous : {false, true}) {
        const std::vector<TaskId> others = previous ? task.after_previous : task.after;
        for (std::size_t i = 0; i < others.size(); ++i) {
          Schedule broken = schedule;
          Task& there = broken.tasks[task.id];
          auto& waits = previous ? there.after_previous : there.after;
          waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
          if (implied(broken, others[i], previous ? task.id + tasks : task.id)) continue;
          EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty()))
              << "seed " << seed << ", task " << task.id << " " << name_of(task.kind) << " after "
              << others[i] << " " << name_of(schedule.tasks[others[i]].kind)
              << (previous ? " of the step before" : "");
          ++(previous ? dropped_between_steps : dropped);
        }
      }
    }
  }
  EXPECT_GT(dropped, 500);
  EXPECT_GT(dropped_between_steps, 100);
}

TEST(Check, FindsSquaresThatNobodySums) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    for (const Task& task : schedule.tasks) {
      if (!task.sums_squares) continue;
      Schedule broken = schedule;
      broken.tasks[task.id].sums_squares = false;
      EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty()))
          << "seed " << seed << ", task " << task.id << " " << name_of(task.kind);
      ++found;
    }
  }
  EXPECT_GT(found, 50);
}

TEST(Check, FindsTooLittleRoomForWhatRanksSend) {
  for (const plan::Reduce reduce : {plan::Reduce::kOrdered, plan::Reduce::kNccl}) {
    for (const int replicas : {1, 2}) {
      SCOPED_TRACE(testing::Message() << plan::kReduces.name_of(reduce) << ", " << replicas);
      Case c;
      c.program = fakes::mlp({64, 64, 64, 64}, 4);
      LayoutOptions options;
      options.blocks = 8;
      options.world = 4;
      options.replicas = replicas;
      options.reduced_by = reduce;
      c.plan = fakes::lay_out(c.program, options);
      Schedule schedule = lower_case(c);
      ASSERT_THAT(check(schedule, c.program, c.plan), IsEmpty());
      int found = 0;
      for (Buffer& buffer : schedule.buffers) {
        if (buffer.role != BufferRole::kExchange) continue;
        buffer.bytes -= 1;
        ++found;
      }
      EXPECT_EQ(found, 1);
      EXPECT_THAT(check(schedule, c.program, c.plan), Not(IsEmpty()));
    }
  }
}

TEST(Check, FindsGradientsThatCannotShareMemory) {
  Case c;
  c.program = fakes::mlp({64, 64, 64, 64, 64, 64}, 4);
  c.plan = fakes::lay_out(c.program, {.gradients = Home::kHost, .optimizer = Home::kHost});
  c.plan.clips_gradients = false;
  const Schedule schedule = lower_case(c);
  ASSERT_THAT(check(schedule, c.program, c.plan), IsEmpty());
  const auto shares = [](const Buffer& buffer) { return buffer.shares >= 0; };
  const auto found = std::find_if(schedule.buffers.begin(), schedule.buffers.end(), shares);
  ASSERT_NE(found, schedule.buffers.end());
  const BufferId shared = found->shares;
  const auto broken = [&](auto&& change) {
    Schedule other = schedule;
    change(other.buffers);
    return check(other, c.program, c.plan);
  };
  EXPECT_THAT(broken([&](auto& buffers) { --buffers[shared].bytes; }), Not(IsEmpty()));
  EXPECT_THAT(broken([&](auto& buffers) { buffers[shared].arena = Arena::kDevice; }),
              Not(IsEmpty()));
  EXPECT_THAT(broken([&](auto& buffers) { buffers[shared].chunk = 0; }), Not(IsEmpty()));
  EXPECT_THAT(broken([&](auto& buffers) { buffers[found->id].shares = 1 << 20; }), Not(IsEmpty()));
  // All chunks in one buffer: the next one's gradients come before the update has read these.
  EXPECT_THAT(broken([&](auto& buffers) {
                for (Buffer& buffer : buffers) {
                  if (shares(buffer)) buffer.shares = shared;
                }
              }),
              Not(IsEmpty()));
  plan::Plan clips = c.plan;
  clips.clips_gradients = true;
  EXPECT_THAT(check(schedule, c.program, clips), Not(IsEmpty()));
}

Case offloaded() {
  Case c;
  c.program = fakes::mlp({64, 64, 64, 64}, 4);
  c.program = edit::offload(c.program, edit::offloadable(c.program), 0);
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 2;
  options.accumulation_steps = 2;
  c.plan = fakes::lay_out(c.program, options);
  return c;
}

/// Changes the first task of a kind and expects problems.
template <class Change>
void expect_found(TaskKind kind, Change change) {
  const Case c = offloaded();
  Schedule schedule = lower_case(c);
  ASSERT_THAT(check(schedule, c.program, c.plan), IsEmpty());
  for (Task& task : schedule.tasks) {
    if (task.kind != kind) continue;
    change(schedule, task);
    EXPECT_THAT(check(schedule, c.program, c.plan), Not(IsEmpty()));
    return;
  }
  FAIL() << "no task of that kind";
}

TEST(Check, FindsAnActivationThatLeavesBeforeItsRange) {
  const Case c = offloaded();
  const Schedule schedule = lower_case(c);
  int found = 0;
  for (const Task& offload : schedule.tasks) {
    if (offload.kind != TaskKind::kOffload) continue;
    // It waits for the range before instead, which may have written the activation.
    Schedule broken = schedule;
    for (TaskId& range : broken.tasks[offload.id].after) {
      if (schedule.tasks[range].stream != Stream::kCompute) continue;
      do {
        --range;
      } while (range > 0 && schedule.tasks[range].stream != Stream::kCompute);
    }
    EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << offload.id;
    ++found;
  }
  EXPECT_GT(found, 2);
}
TEST(Check, FindsAShrunkBlock) {
  expect_found(TaskKind::kFetch, [](Schedule& schedule, const Task& task) {
    schedule.buffers[task.destination].bytes -= 256;
  });
}
TEST(Check, FindsAFetchIntoABlockInUse) {
  expect_found(TaskKind::kFetch, [](Schedule& schedule, Task& task) {
    for (const Task& other : schedule.tasks) {
      if (other.kind == TaskKind::kFetch && other.destination != task.destination) {
        task.destination = other.destination;
        return;
      }
    }
  });
}
TEST(Check, FindsAFetchOfAnotherChunk) {
  expect_found(TaskKind::kFetch, [](Schedule& schedule, Task& task) {
    task.chunk = (task.chunk + 1) % 3;
    task.source = schedule.tasks[task.id + 1].source;
  });
}
TEST(Check, FindsAGradientReleasedBeforeItsCopy) {
  expect_found(TaskKind::kCompute, [](Schedule& schedule, Task&) {
    for (Task& task : schedule.tasks) {
      if (task.kind == TaskKind::kCompute && !task.releases.empty()) {
        task.after.clear();
        return;
      }
    }
  });
}
TEST(Check, FindsAStorageThatIsNeverReleased) {
  expect_found(TaskKind::kCompute, [](Schedule& schedule, Task&) {
    for (Task& task : schedule.tasks) {
      if (!task.releases.empty()) {
        task.releases.pop_back();
        return;
      }
    }
  });
}
TEST(Check, FindsOperatorsThatRunTwice) {
  expect_found(TaskKind::kCompute,
               [](Schedule& schedule, Task& task) { schedule.tasks[task.id].last += 1; });
}
TEST(Check, FindsAStoreIntoTheWrongBuffer) {
  expect_found(TaskKind::kStoreGradient, [](Schedule&, Task& task) { task.destination -= 1; });
}
TEST(Check, FindsAGradientThatLandsOnAnother) {
  expect_found(TaskKind::kStoreGradient, [](Schedule& schedule, Task& first) {
    for (Task& task : schedule.tasks) {
      if (task.kind == TaskKind::kStoreGradient && task.destination != first.destination) {
        task.destination = first.destination;
        return;
      }
    }
  });
}
TEST(Check, FindsAGradientAddedUpFromWhereAnotherLanded) {
  expect_found(TaskKind::kAccumulate, [](Schedule& schedule, Task& task) {
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kGradientLanding && buffer.id != task.source) {
        task.source = buffer.id;
        return;
      }
    }
  });
}
TEST(Check, FindsLandingBuffersWithoutRoom) {
  expect_found(TaskKind::kStoreGradient, [](Schedule& schedule, const Task&) {
    for (Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kGradientLanding) buffer.bytes -= 256;
    }
  });
}
/// In the same step and from the step before.
TEST(Check, FindsALandingBufferThatIsFilledBeforeItIsRead) {
  const Case c = offloaded();
  const Schedule schedule = lower_case(c);
  int found = 0, between_steps = 0;
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kStoreGradient) continue;
    const auto is_sum = [&](TaskId other) {
      return schedule.tasks[other].kind == TaskKind::kAccumulate;
    };
    Schedule broken = schedule;
    found += std::erase_if(broken.tasks[task.id].after, is_sum) > 0 ? 1 : 0;
    between_steps += std::erase_if(broken.tasks[task.id].after_previous, is_sum) > 0 ? 1 : 0;
    if (broken.tasks[task.id].after == task.after) continue;
    EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << task.id;
  }
  EXPECT_GT(found, 4);
  EXPECT_GT(between_steps, 1);
}
TEST(Check, FindsAnUpdateFromTheWrongPlace) {
  expect_found(TaskKind::kUpdate, [](Schedule&, Task& task) { task.source -= 1; });
}
TEST(Check, FindsAnActivationThatGoesToAnothersMemory) {
  expect_found(TaskKind::kOffload, [](Schedule& schedule, Task& task) {
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kOffloaded && buffer.id != task.destination) {
        task.destination = buffer.id;
        return;
      }
    }
  });
}
TEST(Check, FindsAPartOfAnActivation) {
  expect_found(TaskKind::kOffload, [](Schedule&, Task& task) { task.bytes -= 4; });
  expect_found(TaskKind::kReload, [](Schedule&, Task& task) { task.bytes -= 4; });
}
TEST(Check, FindsAnActivationWithoutMemoryOnTheHost) {
  expect_found(TaskKind::kOffload, [](Schedule& schedule, const Task& task) {
    schedule.buffers[task.destination].bytes -= 4;
  });
}
TEST(Check, FindsATaskOnTheWrongStream) {
  expect_found(TaskKind::kAccumulate,
               [](Schedule&, Task& task) { task.stream = Stream::kCompute; });
}
TEST(Check, FindsAWaitForALaterTask) {
  expect_found(TaskKind::kEvict, [](Schedule&, Task& task) { task.after.push_back(task.id + 1); });
}
TEST(Check, FindsAForwardOnlyScheduleThatUpdates) {
  expect_found(TaskKind::kUpdate, [](Schedule& schedule, Task&) { schedule.training = false; });
}
TEST(Check, FindsAForwardOnlyScheduleThatWritesABuffer) {
  fakes::ProgramBuilder builder;
  const fakes::TensorRef x = builder.input("x", {2, 4}, program::DType::kFloat32);
  const fakes::TensorRef mean = builder.buffer("running_mean", {4});
  builder.write("aten::lerp_", mean, {x});
  builder.set_loss(builder.call("aten::mean", {x}, {}));
  const program::Program program = builder.build();
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  EXPECT_THAT(check(lower(program, lifetimes, {}, {.training = true}), program, {}), IsEmpty());
  EXPECT_THAT(check(lower(program, lifetimes, {}, {.training = false}), program, {}),
              Not(IsEmpty()));
}
TEST(Check, FindsAChunkWithoutMoments) {
  expect_found(TaskKind::kUpdate, [](Schedule& schedule, Task&) {
    for (Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kMoment2) buffer.bytes = 0;
    }
  });
}
TEST(Check, FindsSwappedNeighboursOfOneStream) {
  const Case c = offloaded();
  const Schedule schedule = lower_case(c);
  int swapped = 0;
  for (std::size_t i = 0; i + 1 < schedule.tasks.size(); ++i) {
    if (schedule.tasks[i].kind != TaskKind::kCompute ||
        schedule.tasks[i + 1].kind != TaskKind::kEvict) {
      continue;
    }
    Schedule broken = schedule;
    std::swap(broken.tasks[i], broken.tasks[i + 1]);
    std::swap(broken.tasks[i].id, broken.tasks[i + 1].id);
    for (Task& task : broken.tasks) {
      for (TaskId& before : task.after) {
        if (before == static_cast<TaskId>(i)) {
          before += 1;
        } else if (before == static_cast<TaskId>(i) + 1) {
          before -= 1;
        }
      }
    }
    EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << i;
    ++swapped;
  }
  EXPECT_GT(swapped, 0);
}

}  // namespace
}  // namespace elixir::schedule
