// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/memory/operator_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "schedule/buffers/buffers.h"
#include "schedule/plans.h"
#include "schedule/simulate.h"

namespace elixir::schedule {
namespace {

constexpr int kLayers = 40;
constexpr std::int64_t kElements = (10_MiB + 512) / 4;

/// Activations slightly larger than 10 MiB, each alive until backward. LibTorch's allocator uses a
/// segment of 12 MiB for each of them.
program::Program awkward_sizes() {
  fakes::ModelBuilder builder;
  fakes::TensorRef x = builder.raw().parameter("w", {kElements});
  for (int i = 0; i < kLayers; ++i) x = builder.gelu(x);
  builder.loss(x);
  program::Program program = builder.build();
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  return program;
}

struct MemoryCase {
  program::Program program;
  program::Lifetimes lifetimes;
  plan::Plan plan;
  Schedule schedule;
};
MemoryCase lowered(program::Program program, const fakes::LayoutOptions& options = {}) {
  MemoryCase made{std::move(program), {}, {}, {}};
  made.lifetimes = program::analyse_lifetimes(made.program);
  made.plan = fakes::lay_out(made.program, options);
  made.schedule = lower(made.program, made.lifetimes, made.plan, {});
  return made;
}

memory::TrainingEvents events_of(const MemoryCase& of, int steps = 2) {
  return operator_events(of.schedule, of.program, of.lifetimes, replay_scripts(of.program), steps);
}

/// Segments of their own would take 12 MiB for each activation (elixir-train uses expandable ones).
TEST(OperatorMemory, ReservedIsHardlyMoreThanWhatIsAllocated) {
  const MemoryCase made = lowered(awkward_sizes());
  const OperatorMemory memory = operator_memory(events_of(made));
  const Simulation simulation = simulate(made.schedule,
                                         made.program,
                                         made.lifetimes,
                                         made.plan,
                                         hardware::CostModel(fakes::machine(true)),
                                         OperatorCosts(made.program.operators.size()));
  const std::int64_t dynamic =
      simulation.device.bytes - buffer_bytes(made.schedule.buffers, Arena::kDevice);
  EXPECT_TRUE(memory.settled);
  EXPECT_GE(memory.peak_allocated_bytes, dynamic);
  EXPECT_GE(memory.peak_reserved_bytes, memory.peak_allocated_bytes);
  EXPECT_LT(memory.peak_reserved_bytes, kLayers * 12_MiB);
  // A page of 20 MiB may be half used, and one of 2 MiB for small tensors.
  EXPECT_LE(memory.peak_reserved_bytes, memory.peak_allocated_bytes + 22_MiB);
}

TEST(OperatorMemory, EveryRequestIsReleasedWithinItsStep) {
  for (const int micro_batches : {1, 3}) {
    const MemoryCase made = lowered(fakes::transformer({.tokens = 16}),
                                    {.gradients = plan::Home::kHost,
                                     .optimizer = plan::Home::kHost,
                                     .accumulation_steps = micro_batches});
    const memory::TrainingEvents events = operator_events(
        made.schedule, made.program, made.lifetimes, operators::plain_scripts(made.program), 2);
    ASSERT_EQ(events.step_ends.size(), 2U);
    std::int64_t live = 0, requests = 0;
    for (std::size_t i = 0; i < events.events.size(); ++i) {
      live += events.events[i].frees ? -1 : 1;
      requests += events.events[i].frees ? 0 : 1;
      ASSERT_GE(live, 0);
      if (i + 1 == events.step_ends[0]) {
        EXPECT_EQ(live, 0);
      }
    }
    EXPECT_EQ(live, 0);
    std::int64_t produced = 0;
    for (const program::StorageUse& use : made.lifetimes.storages) {
      produced += use.producer >= 0 ? 1 : 0;
    }
    EXPECT_EQ(requests, 2 * micro_batches * produced);
  }
}

TEST(OperatorMemory, AGradientThatIsMadeInABufferTakesNoOther) {
  const MemoryCase made =
      lowered(fakes::mlp({256, 256, 256}, 4),
              {.chunk_bytes = 1_MiB, .blocks = 2, .accumulation_steps = 2, .world = 2});
  std::vector<bool> direct(made.program.storages.size(), false);
  for (const Task& task : made.schedule.tasks) {
    for (const DirectGradient& gradient : task.direct) {
      direct[made.program.parameters[gradient.parameter].gradient->storage] = true;
    }
  }
  EXPECT_EQ(std::count(direct.begin(), direct.end(), true), 2);
  const std::vector<operators::CallScript> scripts = operators::plain_scripts(made.program);
  const auto peak = [&](const Schedule& schedule) {
    return simulate(schedule,
                    made.program,
                    made.lifetimes,
                    made.plan,
                    hardware::CostModel(fakes::machine_of(2)),
                    OperatorCosts(made.program.operators.size()))
        .device.bytes;
  };
  for (const memory::TrainingAllocation& allocation :
       operator_events(made.schedule, made.program, made.lifetimes, scripts, 2).allocations) {
    EXPECT_FALSE(allocation.storage >= 0 && direct[allocation.storage]);
  }
  // Otherwise the same, they come into memory of their own.
  Schedule elsewhere = made.schedule;
  for (Task& task : elsewhere.tasks) task.direct.clear();
  EXPECT_LT(peak(made.schedule), peak(elsewhere));
  EXPECT_LT(
      operator_memory(operator_events(made.schedule, made.program, made.lifetimes, scripts, 2))
          .peak_allocated_bytes,
      operator_memory(operator_events(elsewhere, made.program, made.lifetimes, scripts, 2))
          .peak_allocated_bytes);
}

TEST(OperatorMemory, LastingWorkspacesComeOnceHoweverManyMicroBatches) {
  program::Program program = fakes::transformer({.tokens = 16});
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  const auto lasting = [&](int micro_batches) {
    const MemoryCase made = lowered(program, {.accumulation_steps = micro_batches});
    std::vector<operators::CallScript> scripts = operators::plain_scripts(made.program);
    for (operators::CallScript& script : scripts) {
      script.steps.push_back({.kind = operators::ScriptStep::Kind::kPersistent, .bytes = 1000});
    }
    const memory::TrainingEvents events =
        operator_events(made.schedule, made.program, made.lifetimes, scripts, 2);
    std::int64_t count = 0;
    for (const memory::TrainingAllocation& allocation : events.allocations) {
      count += allocation.scratch ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(lasting(1), 0);
  EXPECT_EQ(lasting(3), lasting(1));
}

}  // namespace
}  // namespace elixir::schedule
