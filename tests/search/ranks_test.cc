// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Plans for several GPUs.
#include "search/search.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sanitizer.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "search/least_gpus.h"
#include "search/searching.h"

namespace elixir::search {
namespace {

TEST(Search, PlansForSeveralGpus) {
  // In fp32, so that shards are a larger part of small chunks.
  fakes::TransformerOptions options;
  options.layers = 4;
  options.hidden = 256;
  options.vocabulary = 1000;
  options.tokens = 64;
  const program::Program program = for_cuda(fakes::transformer(options));
  const std::vector<int> worlds = kUnderAddressSanitizer ? std::vector{3} : std::vector{2, 3, 8};
  for (const int gpus : worlds) {
    const hardware::HardwareProfile hardware = fakes::machine_of(gpus);
    Request request{.gpus = gpus};
    const std::int64_t most = found(search(program, hardware, request)).gpu_memory_bytes;
    request.gpu_memory_bytes = 1;
    const auto least = std::get<Infeasible>(search(program, hardware, request));
    for (const int part : kUnderAddressSanitizer ? std::vector{0} : std::vector{0, 1, 2, 4}) {
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

TEST(Search, EveryStrategyPlansForSeveralGpus) {
  const program::Program program = for_cuda(small_transformer(program::DType::kBFloat16));
  struct Case {
    int gpus, replicas;
  };
  const std::vector<Case> cases = kUnderAddressSanitizer
                                      ? std::vector<Case>{{2, 1}}
                                      : std::vector<Case>{{2, 1}, {3, 1}, {4, 1}, {4, 2}, {2, 2}};
  for (const Case& of : cases) {
    const hardware::HardwareProfile hardware = fakes::machine_of(of.gpus);
    for (const std::string strategy : {"simple", "minimum-waste", "elixir"}) {
      if (kUnderAddressSanitizer && strategy != "elixir") continue;
      Request request{.strategy = strategy, .gpus = of.gpus, .replicas = of.replicas};
      request.recompute = edit::Recompute::kNone;
      request.offload = edit::Offload::kNone;
      SCOPED_TRACE(strategy + ", " + std::to_string(of.gpus) + " GPUs, " +
                   std::to_string(of.replicas) + " replicas");
      const Outcome outcome = search(program, hardware, request);
      expect_sound(found(outcome).plan, program, hardware, request);
      EXPECT_EQ(found(outcome).plan.strategy, strategy);
      request.gpu_memory_bytes = 1;
      const auto least = std::get<Infeasible>(search(program, hardware, request));
      request.gpu_memory_bytes = least.minimum_gpu_memory_bytes;
      expect_sound(found(search(program, hardware, request)).plan, program, hardware, request);
      request.gpu_memory_bytes = std::nullopt;
      request.strategy = "optimal";
      expect_no_slower(found(search(program, hardware, request)),
                       found(outcome).plan.predicted.step_ns);
    }
  }
}

/// With its own figures of A100s, a block is worth more than state on one GPU, and less on two.
TEST(Search, TheOriginalsRulesKnowHowManyGpusShareAChunk) {
  const program::Program program = for_cuda(small_transformer(program::DType::kBFloat16));
  const auto description = [&](int gpus, int replicas) {
    Request request{.strategy = "elixir", .gpus = gpus, .replicas = replicas};
    request.elixir_constants = true;
    request.recompute = edit::Recompute::kNone;
    request.offload = edit::Offload::kNone;
    const hardware::HardwareProfile hardware =
        gpus == 1 ? fakes::machine(true) : fakes::machine_of(gpus);
    return found(search(program, hardware, request)).description;
  };
  EXPECT_THAT(description(1, 1), testing::HasSubstr("cache first"));
  EXPECT_THAT(description(2, 1), testing::HasSubstr("optimizer first"));
  EXPECT_THAT(description(2, 2), testing::HasSubstr("cache first")) << "each has all of a chunk";
}

/// Seconds per 1e9 parameters on two GPUs: a block saves 4 / B, state in its place (2 / 7) * (10 /
/// B + 1 / V), with links of B GB/s together, cores of V G/s, and a GPU that updates at once.
TEST(Search, TheOriginalsRulesTakeWhatGpusGetTogether) {
  const program::Program program = for_cuda(small_transformer(program::DType::kBFloat16));
  Request request{.strategy = "elixir", .gpus = 2};
  request.recompute = edit::Recompute::kNone;
  request.offload = edit::Offload::kNone;
  hardware::HardwareProfile hardware = fakes::machine_of(2);
  const auto description = [&] { return found(search(program, hardware, request)).description; };
  for (hardware::AdamRate& rate : hardware.adam_gpu) rate.params_per_s.median = 1e15;
  for (hardware::AdamRate& rate : hardware.adam_cpu) rate.params_per_s.median = 1e9 / 0.3;
  // B = 20 GB/s, twice that of one: 0.200 and 0.229.
  EXPECT_THAT(description(), testing::HasSubstr("optimizer first"));
  for (auto* links : {&hardware.links.host_to_device, &hardware.links.device_to_host}) {
    hardware::LinkRate both = links->front();
    both.gpus = 2;
    links->push_back(both);
  }
  // B = 10 GB/s: 0.400 and 0.371.
  EXPECT_THAT(description(), testing::HasSubstr("cache first"));
  // Two processes get less of the cores than one: 0.400 and 0.571.
  hardware.adam_cpu.push_back({.dtype = "bf16", .ranks = 2, .params_per_s = fakes::figure(1e9)});
  EXPECT_THAT(description(), testing::HasSubstr("optimizer first"));
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
  // Machines of six: 8 GPUs fill none, 12 fill two.
  Request sixes = request;
  sixes.gpus = 12;
  sixes.gpus_per_node = 6;
  const LeastGpus twelve = least_gpus(program, hardware, sixes);
  EXPECT_EQ(twelve.gpus, 12);
  ASSERT_EQ(twelve.fewer.size(), 3U);
  EXPECT_EQ(twelve.fewer[2].gpus, 4);
  const LeastGpus none = least_gpus(program, hardware, request);
  EXPECT_EQ(none.gpus, 4);
  ASSERT_EQ(none.fewer.size(), 2U);
  EXPECT_EQ(none.fewer[1].gpus, 2);
  EXPECT_TRUE(std::holds_alternative<Infeasible>(none.outcome));
}

}  // namespace
}  // namespace elixir::search
