// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/search.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "fakes/sanitizer.h"
#include "program/lifetimes.h"
#include "schedule/buffers/buffers.h"
#include "schedule/edited_program.h"
#include "schedule/memory/operator_memory.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "search/least_gpus.h"
#include "search/optimal.h"

namespace elixir::search {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

program::Program small_transformer(program::DType dtype = program::DType::kFloat32) {
  fakes::TransformerOptions options;
  options.layers = 4;
  options.hidden = 128;
  options.vocabulary = 1000;
  options.tokens = 64;
  options.dtype = dtype;
  return fakes::transformer(options);
}

program::Program for_cuda(program::Program program) {
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  return program;
}

const Found& found(const Outcome& outcome) {
  if (const auto* no = std::get_if<Infeasible>(&outcome)) {
    ADD_FAILURE() << "infeasible: " << name_of(no->binding_limit) << ", short of "
                  << no->shortfall_bytes;
  }
  return std::get<Found>(outcome);
}

/// Checks that the plan is for the program, lowers to a sound schedule, and keeps budgets and
/// predictions.
void expect_sound(const plan::Plan& plan,
                  const program::Program& captured,
                  const hardware::HardwareProfile& hardware,
                  const Request& request) {
  plan::check_against(plan, captured);
  const program::Program program = schedule::edited_program(captured, plan);
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const schedule::Schedule schedule =
      schedule::lower(program, lifetimes, plan, {.clip_gradients = request.clip_gradients});
  EXPECT_THAT(schedule::check(schedule, program, plan), IsEmpty());
  const schedule::Simulation simulation =
      schedule::simulate(schedule, program, lifetimes, plan, hardware::CostModel(hardware));
  EXPECT_EQ(simulation.device.bytes, plan.predicted.peak_allocated_bytes);
  EXPECT_EQ(simulation.host_bytes, plan.predicted.host_bytes);
  EXPECT_LE(simulation.device.bytes + plan.budgets.gpu_context_bytes,
            plan.budgets.gpu_memory_bytes);
  EXPECT_LE(simulation.host_bytes, plan.budgets.host_memory_bytes);
}

/// A plan that moves nothing may be slower, within doubt.
void expect_no_slower(const Found& found, std::int64_t other_ns) {
  const bool moves =
      std::any_of(found.plan.chunks.begin(), found.plan.chunks.end(), [](const plan::Chunk& chunk) {
        return chunk.parameter_home == plan::Home::kHost ||
               chunk.optimizer_home == plan::Home::kHost;
      });
  const double doubt = moves ? 0 : kPredictionDoubt;
  EXPECT_LE(static_cast<double>(found.plan.predicted.step_ns),
            static_cast<double>(other_ns) * (1 + doubt));
}

TEST(Search, WithRoomEverythingStaysOnTheDevice) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  const Request request;
  const Outcome outcome = search(program, hardware, request);
  const plan::Plan& plan = found(outcome).plan;
  expect_sound(plan, program, hardware, request);
  for (const plan::Chunk& chunk : plan.chunks) {
    EXPECT_EQ(chunk.optimizer_home, plan::Home::kDevice);
    EXPECT_EQ(chunk.parameter_home, plan::Home::kDevice);
  }
  EXPECT_EQ(plan.predicted.traffic.fetches, 0);
}

TEST(Search, OptimizerStateStaysOnTheHostWhereThatIsAsked) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  const std::int64_t fastest_ns = found(search(program, hardware, request)).plan.predicted.step_ns;
  request.optimizer_state = OptimizerState::kHost;
  const Outcome outcome = search(program, hardware, request);
  const plan::Plan& plan = found(outcome).plan;
  expect_sound(plan, program, hardware, request);
  std::int64_t on_the_device = 0;
  for (const plan::Chunk& chunk : plan.chunks) {
    EXPECT_EQ(chunk.optimizer_home, plan::Home::kHost);
    if (chunk.parameter_home == plan::Home::kDevice) ++on_the_device;
  }
  EXPECT_GT(on_the_device, 0) << "there is room for parameters";
  EXPECT_GT(plan.predicted.step_ns, fastest_ns);
}

/// Bytes of the activations that a plan keeps.
std::int64_t kept_bytes(const program::Program& program) {
  std::int64_t bytes = 0;
  for (const program::StorageId s : edit::kept_activations(program)) {
    bytes += program.storages[s].bytes;
  }
  return bytes;
}

TEST(Search, RecomputesWhereActivationsDoNotFit) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  request.gpu_memory_bytes = 0;
  request.offload = edit::Offload::kNone;
  request.recompute = edit::Recompute::kNone;
  const auto keeping = std::get<Infeasible>(search(program, hardware, request));
  request.recompute = edit::Recompute::kBlocks;
  const auto blocks = std::get<Infeasible>(search(program, hardware, request));
  ASSERT_LT(blocks.minimum_gpu_memory_bytes, keeping.minimum_gpu_memory_bytes);

  // Between the two, only a plan that recomputes fits.
  request.gpu_memory_bytes = keeping.minimum_gpu_memory_bytes - 1;
  request.recompute = edit::Recompute::kNone;
  const Outcome no = search(program, hardware, request);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(no));
  EXPECT_EQ(std::get<Infeasible>(no).remedies.front().text,
            "--recompute blocks (finds a plan in these budgets)");

  request.recompute = std::nullopt;
  const Outcome outcome = search(program, hardware, request);
  const Found& recomputing = found(outcome);
  expect_sound(recomputing.plan, program, hardware, request);
  EXPECT_NE(recomputing.recomputation.choice, edit::Recompute::kNone);
  EXPECT_EQ(recomputing.recomputation.kept_without_bytes, kept_bytes(program));
  EXPECT_EQ(recomputing.recomputation.kept_bytes,
            kept_bytes(schedule::edited_program(program, recomputing.plan)));
  EXPECT_LT(recomputing.recomputation.kept_bytes, recomputing.recomputation.kept_without_bytes);
}

TEST(Search, OffloadsWhereActivationsDoNotFit) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  request.recompute = edit::Recompute::kNone;
  request.gpu_memory_bytes = 0;
  const auto with_host = std::get<Infeasible>(search(program, hardware, request));
  request.offload = edit::Offload::kNone;
  const auto without = std::get<Infeasible>(search(program, hardware, request));
  ASSERT_LT(with_host.minimum_gpu_memory_bytes, without.minimum_gpu_memory_bytes);

  request.gpu_memory_bytes = without.minimum_gpu_memory_bytes - 1;
  const Outcome no = search(program, hardware, request);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(no));
  std::vector<std::string> remedies;
  for (const Remedy& remedy : std::get<Infeasible>(no).remedies) remedies.push_back(remedy.text);
  EXPECT_THAT(remedies, Contains("--offload all (finds a plan in these budgets)"));

  request.offload = std::nullopt;
  const Outcome outcome = search(program, hardware, request);
  const Found& offloading = found(outcome);
  const program::Program edited = schedule::edited_program(program, offloading.plan);
  expect_sound(offloading.plan, program, hardware, request);
  EXPECT_EQ(offloading.recomputation.choice, edit::Recompute::kNone);
  EXPECT_GT(offloading.recomputation.offloaded_bytes, 0);
  EXPECT_EQ(offloading.recomputation.offloaded_bytes, edit::offloaded_bytes(edited));
  EXPECT_EQ(offloading.recomputation.kept_bytes, kept_bytes(program));
  EXPECT_LT(kept_bytes(edited), kept_bytes(program));
}

TEST(Search, TheHostNeverMakesThePlanSlower) {
  const hardware::HardwareProfile hardware = fakes::machine(true);
  const program::Program program = for_cuda(small_transformer(program::DType::kBFloat16));
  Request request;
  request.gpu_memory_bytes = 0;
  const std::int64_t least =
      std::get<Infeasible>(search(program, hardware, request)).minimum_gpu_memory_bytes;
  int offloads = 0;
  for (const std::int64_t more : {0_KiB, 256_KiB, 1_MiB, 2_MiB, 64_MiB}) {
    request.gpu_memory_bytes = least + more;
    request.offload = std::nullopt;
    const Outcome outcome = search(program, hardware, request);
    expect_sound(found(outcome).plan, program, hardware, request);
    offloads += found(outcome).recomputation.offloaded_bytes > 0 ? 1 : 0;
    request.offload = edit::Offload::kNone;
    const Outcome without = search(program, hardware, request);
    if (const auto* plan = std::get_if<Found>(&without)) {
      expect_no_slower(found(outcome), plan->plan.predicted.step_ns);
    }
  }
  EXPECT_GT(offloads, 0);
  EXPECT_LT(offloads, 5);
}

TEST(Search, SaysWhatItIsDoing) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  request.gpu_memory_bytes = 0;
  std::vector<double> parts;
  std::vector<std::string> texts;
  request.on_progress = [&](double part, const std::string& what) {
    parts.push_back(part);
    texts.push_back(what);
  };
  (void)search(program, hardware, request);
  ASSERT_GT(parts.size(), 1);
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
  EXPECT_EQ(parts.front(), 0);
  EXPECT_LE(parts.back(), 1);
  EXPECT_THAT(texts.front(), HasSubstr("recomputing nothing"));
  EXPECT_THAT(texts.back(), HasSubstr("activations"));
}

TEST(Search, RecomputesNothingWhereEverythingFits) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  const Outcome outcome = search(program, hardware, request);
  EXPECT_TRUE(found(outcome).plan.edits.empty());
  EXPECT_EQ(found(outcome).plan.edited_fingerprint, "");
  for (const Candidate& other : found(outcome).runners_up) {
    EXPECT_THAT(other.description, Not(HasSubstr("recompute")));
  }
}

TEST(Search, StrategiesOfTheOriginalRecomputeBlocks) {
  const program::Program program = small_transformer();
  const hardware::HardwareProfile hardware = fakes::machine(false);
  Request request;
  request.strategy = "minimum-waste";
  EXPECT_EQ(found(search(program, hardware, request)).recomputation.choice,
            edit::Recompute::kBlocks);
  request.recompute = edit::Recompute::kNone;
  EXPECT_EQ(found(search(program, hardware, request)).recomputation.choice, edit::Recompute::kNone);
}

TEST(Search, OfAllThatMayBeRecomputedTakesTheFastest) {
  const hardware::HardwareProfile hardware = fakes::machine(true);
  const program::Program program = for_cuda(small_transformer(program::DType::kBFloat16));
  Request request;
  request.offload = edit::Offload::kNone;
  request.gpu_memory_bytes = 0;
  const std::int64_t least =
      std::get<Infeasible>(search(program, hardware, request)).minimum_gpu_memory_bytes;
  for (const std::int64_t more : {64_KiB, 1_MiB, 4_MiB}) {
    request.gpu_memory_bytes = least + more;
    request.recompute = std::nullopt;
    const Outcome outcome = search(program, hardware, request);
    std::int64_t fastest_ns = std::numeric_limits<std::int64_t>::max();
    for (const edit::Recompute choice :
         {edit::Recompute::kNone, edit::Recompute::kElementwise, edit::Recompute::kBlocks}) {
      request.recompute = choice;
      const Outcome one = search(program, hardware, request);
      if (const auto* plan = std::get_if<Found>(&one)) {
        fastest_ns = std::min(fastest_ns, plan->plan.predicted.step_ns);
      }
    }
    expect_no_slower(found(outcome), fastest_ns);
  }
}

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

TEST(Search, EveryStrategyGivesASoundPlan) {
  for (const bool cuda : {false, true}) {
    fakes::TransformerOptions options;
    options.layers = 6;
    options.hidden = 512;
    options.vocabulary = 8000;
    options.tokens = 64;
    options.frozen_layers = 1;
    options.dtype = program::DType::kBFloat16;
    program::Program program = fakes::transformer(options);
    if (cuda) program = for_cuda(std::move(program));
    const hardware::HardwareProfile hardware = fakes::machine(cuda);
    for (const std::string& strategy : strategies()) {
      for (const bool literals : {false, true}) {
        Request request;
        request.strategy = strategy;
        request.elixir_constants = literals;
        const Outcome outcome = search(program, hardware, request);
        ASSERT_TRUE(std::holds_alternative<Found>(outcome)) << strategy;
        expect_sound(found(outcome).plan, program, hardware, request);
        if (strategy != "optimal") {
          EXPECT_EQ(found(outcome).plan.strategy, strategy);
        }
      }
    }
  }
}

/// On a machine whose AdamW on the host looks good on paper, a plan that moves nothing is taken all
/// the same, unless moving gains more than predictions may be off.
TEST(Search, MovesNothingWithoutNeedUnlessItIsFasterBeyondDoubt) {
  // Many blocks: the more chunks there are, the smaller is what one more of them gains.
  fakes::TransformerOptions options;
  options.layers = 24;
  options.hidden = 256;
  options.tokens = 512;
  options.dtype = program::DType::kBFloat16;
  const program::Program program = for_cuda(fakes::transformer(options));
  Request request;
  request.gpu_memory_bytes = 512_MiB + 96_MiB + 1_GiB;
  const auto winner_with = [&](double gpu_params_per_s) {
    hardware::HardwareProfile hardware = fakes::machine(true);
    for (hardware::AdamRate& rate : hardware.adam_gpu) rate.params_per_s.median = gpu_params_per_s;
    Outcome outcome = search(program, hardware, request);
    return found(outcome);
  };
  // The slower AdamW is on the GPU, the more there is to gain on the host.
  int stays = 0;
  int stays_although_another_is_faster = 0;
  int goes = 0;
  for (double rate = 20e9; rate > 5e9; rate /= 1.2) {
    const Found winner = winner_with(rate);
    request.host_memory_bytes = 0;
    const Found resident = winner_with(rate);
    request.host_memory_bytes = std::nullopt;
    const double gain = static_cast<double>(resident.plan.predicted.step_ns) /
                        static_cast<double>(winner.plan.predicted.step_ns);
    // It says what all on the device would need, because it moves something.
    if (winner.all_on_device) {
      EXPECT_GT(gain, 1 + kPredictionDoubt);
      ++goes;
      continue;
    }
    EXPECT_EQ(gain, 1);
    ++stays;
    for (const Candidate& other : winner.runners_up) {
      const double faster =
          static_cast<double>(winner.plan.predicted.step_ns) / static_cast<double>(other.step_ns);
      EXPECT_LE(faster, 1 + kPredictionDoubt);
      stays_although_another_is_faster += faster > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(stays, 0);
  EXPECT_GT(stays_although_another_is_faster, 0);
  EXPECT_GT(goes, 0);
}

TEST(Search, OptimalIsAtLeastAsFastAsEveryBaseline) {
  const program::Program program = for_cuda(small_transformer(program::DType::kBFloat16));
  const hardware::HardwareProfile hardware = fakes::machine(true);
  for (const std::int64_t room : {4_MiB, 16_MiB, 1_GiB}) {
    Request request;
    request.gpu_memory_bytes = 512_MiB + 96_MiB + room;
    const Outcome best = search(program, hardware, request);
    ASSERT_TRUE(std::holds_alternative<Found>(best)) << room;
    for (const char* strategy : {"simple", "minimum-waste", "elixir"}) {
      request.strategy = strategy;
      const Outcome baseline = search(program, hardware, request);
      if (const auto* plan = std::get_if<Found>(&baseline)) {
        SCOPED_TRACE(strategy);
        expect_no_slower(found(best), plan->plan.predicted.step_ns);
      }
    }
  }
}

TEST(Search, SimpleHasTenGroupsAndSixBlocks) {
  const program::Program program = small_transformer();
  Request request;
  request.strategy = "simple";
  const Outcome outcome = search(program, fakes::machine(false), request);
  const plan::Plan& plan = found(outcome).plan;
  int open = 0;
  for (const plan::Chunk& chunk : plan.chunks) {
    if (chunk.kind == plan::Chunk::Kind::kPublic) ++open;
  }
  EXPECT_EQ(open, 10);
  EXPECT_EQ(plan.cache.blocks, 6);
  EXPECT_EQ(plan.chunks.front().parameter_home, plan::Home::kHost);
}

TEST(Search, ABaselineThatDoesNotFitNamesOptimal) {
  const program::Program program = small_transformer();
  Request request;
  request.gpu_memory_bytes = 0;
  const auto least = std::get<Infeasible>(search(program, fakes::machine(false), request));
  request.gpu_memory_bytes = least.minimum_gpu_memory_bytes;
  request.strategy = "simple";
  const Outcome outcome = search(program, fakes::machine(false), request);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(outcome));
  const auto& no = std::get<Infeasible>(outcome);
  EXPECT_GT(no.shortfall_bytes, 0);
  EXPECT_THAT(no.remedies.front().text, ::testing::HasSubstr("--strategy optimal"));
}

TEST(Search, TiedParametersHavePrivateChunksAndFrozenOnesTheirOwn) {
  fakes::TransformerOptions options;
  options.frozen_layers = 1;
  const program::Program program = fakes::transformer(options);
  const Outcome outcome = search(program, fakes::machine(false), {});
  for (const plan::Chunk& chunk : found(outcome).plan.chunks) {
    bool tied = false;
    int trained = 0;
    for (const plan::ChunkParameter& entry : chunk.parameters) {
      for (const program::Parameter& parameter : program.parameters) {
        if (parameter.name != entry.name) continue;
        tied = tied || parameter.names.size() > 1;
        trained += parameter.gradient ? 1 : 0;
      }
    }
    EXPECT_EQ(tied, chunk.kind == plan::Chunk::Kind::kPrivate);
    EXPECT_TRUE(trained == 0 || trained == static_cast<int>(chunk.parameters.size()));
  }
}

TEST(Search, SameInputsGiveTheSameBytes) {
  const program::Program program = for_cuda(small_transformer());
  const hardware::HardwareProfile hardware = fakes::machine(true);
  Request request;
  request.gpu_memory_bytes = 512_MiB + 96_MiB + 8_MiB;
  const Outcome a = search(program, hardware, request);
  const Outcome b = search(program, hardware, request);
  EXPECT_EQ(dump(plan::to_json(found(a).plan)), dump(plan::to_json(found(b).plan)));
}

TEST(Search, PlansForSeveralGpus) {
  // In fp32, so that shards are a larger part of small chunks.
  fakes::TransformerOptions options;
  options.layers = 4;
  options.hidden = 256;
  options.vocabulary = 1000;
  options.tokens = 64;
  const program::Program program = for_cuda(fakes::transformer(options));
  const std::vector<int> worlds =
      fakes::kUnderAddressSanitizer ? std::vector{3} : std::vector{2, 3, 8};
  for (const int gpus : worlds) {
    const hardware::HardwareProfile hardware = fakes::machine_of(gpus);
    Request request{.gpus = gpus};
    const std::int64_t most = found(search(program, hardware, request)).gpu_memory_bytes;
    request.gpu_memory_bytes = 1;
    const auto least = std::get<Infeasible>(search(program, hardware, request));
    for (const int part : {0, 1, 2, 4}) {
      request.gpu_memory_bytes =
          least.minimum_gpu_memory_bytes + (most - least.minimum_gpu_memory_bytes) * part / 4;
      SCOPED_TRACE(std::to_string(gpus) + " GPUs, " + std::to_string(part) + " of 4");
      const Outcome outcome = search(program, hardware, request);
      expect_sound(found(outcome).plan, program, hardware, request);
      EXPECT_EQ(found(outcome).plan.world, gpus);
      EXPECT_EQ(found(outcome).collectives, "measured");
    }
  }
}

TEST(Search, ABudgetOfHostMemoryIsThatOfAMachineWithAllItsGpus) {
  const program::Program program = for_cuda(small_transformer());
  const hardware::HardwareProfile hardware = fakes::machine_of(2);
  Request request{.gpus = 4};
  request.gpus_per_node = 2;
  request.recompute = edit::Recompute::kNone;
  request.offload = edit::Offload::kNone;
  request.gpu_memory_bytes = 1;
  request.gpu_memory_bytes =
      std::get<Infeasible>(search(program, hardware, request)).minimum_gpu_memory_bytes;
  const plan::Plan plan = found(search(program, hardware, request)).plan;
  EXPECT_EQ(plan.ranks_per_node, 2);
  EXPECT_EQ(plan.budgets.host_memory_bytes, hardware.machine.host_memory_bytes / 2);
  request.host_memory_bytes = 1;
  const auto no = std::get<Infeasible>(search(program, hardware, request));
  EXPECT_EQ(no.binding_limit, BindingLimit::kHostMemory);
  request.host_memory_bytes = no.minimum_host_memory_bytes;
  EXPECT_EQ(found(search(program, hardware, request)).plan.budgets.host_memory_bytes,
            no.minimum_host_memory_bytes / 2);
  request.host_memory_bytes = no.minimum_host_memory_bytes - 2;
  EXPECT_TRUE(std::holds_alternative<Infeasible>(search(program, hardware, request)));
}

TEST(Search, TheLeastNumberOfGpusIsTheFirstWithAPlan) {
  const program::Program program = for_cuda(small_transformer());
  const hardware::HardwareProfile hardware = fakes::machine_of(4);
  Request request{.gpus = 4};
  request.host_memory_bytes = 1;
  request.offload = edit::Offload::kNone;
  request.recompute = edit::Recompute::kNone;
  request.gpu_memory_bytes = 1;
  // Enough for one of four, on whose host nothing may be, but not for one of two.
  const auto enough_with = [&](int gpus) {
    Request alone = request;
    alone.gpus = gpus;
    alone.gpu_memory_bytes = std::nullopt;
    return found(search(program, hardware, alone)).gpu_memory_bytes;
  };
  request.gpu_memory_bytes = std::min(enough_with(1), enough_with(4));
  const LeastGpus least = least_gpus(program, hardware, request);
  for (const TooFewGpus& fewer : least.fewer) {
    Request alone = request;
    alone.gpus = fewer.gpus;
    EXPECT_TRUE(std::holds_alternative<Infeasible>(search(program, hardware, alone)));
  }
  EXPECT_EQ(found(least.outcome).plan.world, least.gpus);
  request.gpu_memory_bytes = 1;
  const LeastGpus none = least_gpus(program, hardware, request);
  EXPECT_EQ(none.gpus, 4);
  ASSERT_EQ(none.fewer.size(), 2U);
  EXPECT_EQ(none.fewer[1].gpus, 2);
  EXPECT_TRUE(std::holds_alternative<Infeasible>(none.outcome));
}

TEST(Search, WhatCannotBePlannedIsRefused) {
  const program::Program program = small_transformer();
  Request request;
  request.gpus = 0;
  EXPECT_THROW((void)search(program, fakes::machine(false), request), Error);
  request.gpus = 6;
  request.gpus_per_node = 4;
  EXPECT_THROW((void)search(program, fakes::machine(false), request), Error);
  request = {.strategy = "elixir", .gpus = 2};
  EXPECT_THROW((void)search(program, fakes::machine(false), request), Error);
  request = {};
  request.strategy = "best";
  EXPECT_THROW((void)search(program, fakes::machine(false), request), Error);
  try {
    (void)search(program, fakes::machine(true), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kProfileTargetMismatch);
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
    const std::int64_t least = *find_minima(problem).gpu_memory_bytes;
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
