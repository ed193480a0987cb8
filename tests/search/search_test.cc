// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What the search finds, whatever the model: sound plans, no slower than any baseline.
#include "search/search.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "core/sanitizer.h"
#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "search/optimal.h"
#include "search/searching.h"

namespace elixir::search {
namespace {

using ::testing::HasSubstr;

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
  using Bytes = std::vector<std::int64_t>;
  for (const std::int64_t room :
       kUnderAddressSanitizer ? Bytes{16_MiB} : Bytes{4_MiB, 16_MiB, 1_GiB}) {
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

TEST(Search, WhatCannotBePlannedIsRefused) {
  const program::Program program = small_transformer();
  Request request;
  request.gpus = 0;
  EXPECT_THROW((void)search(program, fakes::machine(false), request), Error);
  request.gpus = 6;
  request.gpus_per_node = 4;
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

}  // namespace
}  // namespace elixir::search
