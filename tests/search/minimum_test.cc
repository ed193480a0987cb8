// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The least memory that the search says a plan needs, and plans around it.
#include "search/search.h"

#include <algorithm>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sanitizer.h"
#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"
#include "schedule/buffers/buffers.h"
#include "schedule/edited_program.h"
#include "schedule/memory/operator_memory.h"
#include "schedule/schedule.h"
#include "search/optimal.h"
#include "search/problem.h"
#include "search/searching.h"

namespace elixir::search {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

TEST(Search, AQuarterOfTheStateStillTrains) {
  fakes::TransformerOptions options;
  options.layers = 4;
  options.hidden = 512;
  const program::Program program = fakes::transformer(options);
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  request.gpu_memory_bytes = program.parameter_count() * 16 / 4;
  const Outcome outcome = search(program, hardware, request);
  const plan::Plan& plan = found(outcome).plan;
  expect_sound(plan, program, hardware, request);
  EXPECT_GT(plan.predicted.traffic.fetches, 0);
}

TEST(Search, AtTheMinimumAPlanIsFoundAndOneByteBelowNone) {
  for (const bool cuda : {false, true}) {
    const hardware::HardwareProfile hardware = fakes::machine(cuda);
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      program::Program program = seed == 0 ? small_transformer() : fakes::random_program(seed);
      if (cuda) program = for_cuda(std::move(program));
      Request request;
      request.accumulation_steps = 1 + static_cast<int>(seed % 2);
      request.gpu_memory_bytes = 0;
      const Outcome none = search(program, hardware, request);
      ASSERT_TRUE(std::holds_alternative<Infeasible>(none));
      const auto& no = std::get<Infeasible>(none);
      EXPECT_EQ(no.binding_limit, BindingLimit::kGpuMemory);
      EXPECT_EQ(no.shortfall_bytes, no.minimum_gpu_memory_bytes);
      EXPECT_THAT(no.remedies, Not(IsEmpty()));

      request.gpu_memory_bytes = no.minimum_gpu_memory_bytes;
      const Outcome exact = search(program, hardware, request);
      expect_sound(found(exact).plan, program, hardware, request);

      request.gpu_memory_bytes = no.minimum_gpu_memory_bytes - 1;
      const Outcome below = search(program, hardware, request);
      ASSERT_TRUE(std::holds_alternative<Infeasible>(below)) << "seed " << seed;
      EXPECT_EQ(std::get<Infeasible>(below).binding_limit, BindingLimit::kGpuMemory);
      EXPECT_EQ(std::get<Infeasible>(below).shortfall_bytes, 1);
    }
  }
}

/// Each activation is slightly larger than 10 MiB: half a page of the allocator's.
TEST(Search, APlanOnAGpuHasRoomForWhatTheAllocatorReserves) {
  fakes::ModelBuilder builder;
  fakes::TensorRef x = builder.raw().parameter("w", {(10_MiB + 512) / 4});
  for (int i = 0; i < 60; ++i) x = builder.gelu(x);
  builder.loss(x);
  const program::Program program = for_cuda(builder.build());
  const hardware::HardwareProfile hardware = fakes::machine(true);
  for (const std::string& strategy : strategies()) {
    if (kUnderAddressSanitizer && strategy != "elixir") continue;
    Request request;
    request.strategy = strategy;
    request.gpu_memory_bytes = 0;
    const Outcome none = search(program, hardware, request);
    request.gpu_memory_bytes = std::get<Infeasible>(none).minimum_gpu_memory_bytes;
    const Outcome outcome = search(program, hardware, request);
    const Found& plan = found(outcome);
    const program::Program edited = schedule::edited_program(program, plan.plan);
    const program::Lifetimes lifetimes = program::analyse_lifetimes(edited);
    const schedule::Schedule schedule = schedule::lower(
        edited, lifetimes, plan.plan, {.clip_gradients = plan.plan.clips_gradients});
    const schedule::OperatorMemory memory = schedule::operator_memory(schedule::operator_events(
        schedule, edited, lifetimes, schedule::replay_scripts(edited), 2));
    const std::int64_t needed = plan.plan.budgets.gpu_context_bytes +
                                schedule::buffer_bytes(schedule.buffers, schedule::Arena::kDevice) +
                                memory.peak_reserved_bytes;
    EXPECT_GE(plan.gpu_memory_bytes, needed) << strategy;
    EXPECT_LE(plan.gpu_memory_bytes, *request.gpu_memory_bytes) << strategy;
    --*request.gpu_memory_bytes;
    EXPECT_TRUE(std::holds_alternative<Infeasible>(search(program, hardware, request))) << strategy;
  }
}

TEST(Search, AtTheHostMinimumAPlanIsFoundAndOneByteBelowNone) {
  const program::Program program = small_transformer(program::DType::kBFloat16);
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  request.gpu_memory_bytes = program.parameter_count() * 8 + 2_MiB;
  request.host_memory_bytes = 0;
  const Outcome none = search(program, hardware, request);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(none));
  const auto& no = std::get<Infeasible>(none);
  EXPECT_EQ(no.binding_limit, BindingLimit::kHostMemory);
  EXPECT_EQ(no.shortfall_bytes, no.minimum_host_memory_bytes);
  ASSERT_GT(no.minimum_host_memory_bytes, 0);

  request.host_memory_bytes = no.minimum_host_memory_bytes;
  const Outcome exact = search(program, hardware, request);
  expect_sound(found(exact).plan, program, hardware, request);

  request.host_memory_bytes = no.minimum_host_memory_bytes - 1;
  const Outcome below = search(program, hardware, request);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(below));
  EXPECT_EQ(std::get<Infeasible>(below).binding_limit, BindingLimit::kHostMemory);
  EXPECT_EQ(std::get<Infeasible>(below).shortfall_bytes, 1);

  // And the reported GPU minimum is enough without host memory.
  request.host_memory_bytes = 0;
  request.gpu_memory_bytes = no.minimum_gpu_memory_bytes;
  const Outcome device = search(program, hardware, request);
  expect_sound(found(device).plan, program, hardware, request);
  request.gpu_memory_bytes = no.minimum_gpu_memory_bytes - 1;
  EXPECT_TRUE(std::holds_alternative<Infeasible>(search(program, hardware, request)));
}

TEST(Search, MoreMemoryIsNeverSlower) {
  for (const bool cuda : {false, true}) {
    program::Program program = small_transformer(program::DType::kBFloat16);
    if (cuda) program = for_cuda(std::move(program));
    const hardware::HardwareProfile hardware = fakes::machine(cuda);
    Request request;
    request.gpu_memory_bytes = 0;
    const auto least =
        std::get<Infeasible>(search(program, hardware, request)).minimum_gpu_memory_bytes;
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t more : {0_KiB, 256_KiB, 1_MiB, 4_MiB, 16_MiB, 64_MiB}) {
      request.gpu_memory_bytes = least + more;
      const Outcome outcome = search(program, hardware, request);
      const plan::Plan& plan = found(outcome).plan;
      expect_sound(plan, program, hardware, request);
      // The search tries only a few points of the family, so it may be slightly worse.
      EXPECT_LE(static_cast<double>(plan.predicted.step_ns), 1.02 * static_cast<double>(last_ns));
      last_ns = std::min(last_ns, plan.predicted.step_ns);
    }
  }
}

/// No plan of the family, tried one by one, needs less than the reported minimum.
TEST(Search, TheMinimumIsTheSmallestOfItsFamily) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const hardware::HardwareProfile hardware = fakes::machine(false);
    Request request;
    request.gpu_memory_bytes = 0;
    const Edits edits{.fingerprint = program::fingerprint(program), .edits = {}};
    const Problem problem(program, edits, hardware, request);
    const std::int64_t least = *find_minima(PlacementSpace(problem)).gpu_memory_bytes;
    const std::vector<std::vector<Item>> together =
        used_together(problem.items(), problem.lifetimes());
    for (const std::int64_t capacity : {0_KiB, 1_KiB, 4_KiB, 16_KiB, 64_KiB, 1_MiB}) {
      for (const bool alone : {false, true}) {
        Layout layout = pack(alone ? singles(problem.items()) : together, capacity);
        for (Members& chunk : private_chunks(problem.items())) layout.push_back(chunk);
        for (std::size_t kept = 0; kept <= layout.size(); ++kept) {
          plan::Plan plan = problem.blank_plan("test");
          plan.chunks = chunks_of(layout, program, plan);
          for (plan::Chunk& chunk : plan.chunks) {
            chunk.parameter_home = chunk.gradient_home = chunk.optimizer_home = plan::Home::kHost;
          }
          if (kept < layout.size()) plan.chunks[kept].parameter_home = plan::Home::kDevice;
          problem.set_cache(plan, 0);
          EXPECT_GE(problem.evaluate(plan, "").gpu_memory_bytes, least) << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace elixir::search
