// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which activations the search recomputes or offloads.
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
#include "edit/activations.h"
#include "edit/offload.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "schedule/edited_program.h"
#include "search/searching.h"

namespace elixir::search {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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
  for (const std::int64_t more : {0_KiB, 256_KiB, 512_KiB, 1_MiB, 64_MiB}) {
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
  using Bytes = std::vector<std::int64_t>;
  for (const std::int64_t more :
       kUnderAddressSanitizer ? Bytes{1_MiB} : Bytes{64_KiB, 1_MiB, 4_MiB}) {
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

}  // namespace
}  // namespace elixir::search
