// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Plans for several GPUs.
#include "search/search.h"

#include <algorithm>
#include <variant>
#include <vector>

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
