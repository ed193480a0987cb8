// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/search_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.h"
#include "fakes/program_builder.h"

namespace elixir::report {
namespace {

using plan::Home;
using ::testing::HasSubstr;
using ::testing::Not;

plan::Plan plan_of(int chunks, int parameters_on_host, int optimizers_on_host) {
  plan::Plan plan;
  plan.hardware.device_kind = program::DeviceKind::kCuda;
  plan.chunks.resize(static_cast<std::size_t>(chunks));
  for (int i = 0; i < chunks; ++i) {
    plan::Chunk& chunk = plan.chunks[static_cast<std::size_t>(i)];
    chunk.bytes = 1_GiB;
    if (i < parameters_on_host) chunk.parameter_home = Home::kHost;
    if (i < optimizers_on_host) chunk.optimizer_home = Home::kHost;
  }
  return plan;
}

search::Found found_of(plan::Plan plan) {
  search::Found found;
  plan.predicted.step_ns = 500'000'000;
  plan.predicted.operators_measured = plan.predicted.operators_total = 12;
  plan.budgets = {24_GiB, 100_GiB, 1_GiB};
  found.device_peak.bytes = 20_GiB;
  found.device_peak.by_category_bytes[static_cast<std::size_t>(program::Category::kActivation)] =
      15_GiB;
  found.gpu_memory_bytes = found.process_bytes = 22_GiB;
  found.plan = std::move(plan);
  return found;
}

program::Profile profile_of(program::Ints sizes, program::DType dtype) {
  fakes::ProgramBuilder builder;
  builder.input("x", std::move(sizes), dtype);
  program::Profile profile;
  profile.program = builder.build();
  return profile;
}

TEST(SearchScreen, SaysInWordsWhatLivesOnTheHost) {
  EXPECT_EQ(homes_of(plan_of(97, 63, 71)),
            "63 of 97 chunks keep their parameters on the host, 71 their optimizer state");
  EXPECT_EQ(homes_of(plan_of(9, 0, 1)), "1 of 9 chunks keeps its optimizer state on the host");
  EXPECT_EQ(homes_of(plan_of(9, 0, 0)), "everything stays on the GPU");
  plan::Plan none = plan_of(9, 2, 2);
  none.optimizer = program::Optimizer::kNone;
  EXPECT_EQ(homes_of(none), "2 of 9 chunks keep their parameters on the host");
}

TEST(SearchScreen, HasTokensPerSecondAndSharesOfThePeak) {
  search::Found found = found_of(plan_of(4, 1, 2));
  found.plan.accumulation_steps = 2;
  const std::string text = search_screen(found, profile_of({8, 512}, program::DType::kInt64), 1);
  EXPECT_THAT(text,
              HasSubstr("plan found: 500 ms a step, 16,384 tokens/s, 22.0 GiB of 24.0 GiB of "
                        "GPU memory\n"));
  EXPECT_THAT(text, HasSubstr("operators  12 calls, all measured"));
  const std::size_t shares = text.find("  share of the peak, %");
  ASSERT_NE(shares, std::string::npos) << text;
  EXPECT_THAT(text.substr(shares, text.find('\n', shares) - shares), HasSubstr(" 75 "));
  // An image has no tokens.
  EXPECT_THAT(search_screen(found, profile_of({8, 3, 32, 32}, program::DType::kFloat32), 1),
              HasSubstr(" 32 samples/s"));
}

TEST(SearchScreen, SaysWhatModelledOperatorsMean) {
  search::Found found = found_of(plan_of(4, 1, 2));
  found.plan.predicted.operators_measured = 10;
  EXPECT_THAT(search_screen(found, {}, 1),
              HasSubstr("10 of 12 calls measured, 2 modelled: their time is an estimate, their "
                        "workspace an upper bound\n"));
}

TEST(SearchScreen, SaysWhatLimitsTheStep) {
  search::Found found = found_of(plan_of(4, 1, 2));
  EXPECT_THAT(search_screen(found, {}, 1), Not(HasSubstr("limited by")));
  found.plan.predicted.streams = {{.stream = "compute", .busy_ns = 300, .critical_ns = 100},
                                  {.stream = "host_to_device", .busy_ns = 400, .critical_ns = 300}};
  EXPECT_THAT(search_screen(found, {}, 1),
              HasSubstr("limited by host-to-device 75 %, compute 25 % (the critical path)\n"));
}

TEST(SearchScreen, SaysWhyAPlanMovesWhatTheProfileFits) {
  search::Found found = found_of(plan_of(4, 1, 2));
  found.all_on_device = search::DeviceNeed{22_GiB, 25_GiB};
  program::Profile profile;
  EXPECT_THAT(search_screen(found, profile, 1), Not(HasSubstr("elixir-profile")));
  profile.memory.process_peak_bytes = 25_GiB;
  EXPECT_THAT(search_screen(found, profile, 1), Not(HasSubstr("elixir-profile")));
  profile.memory.process_peak_bytes = 23_GiB;
  EXPECT_THAT(search_screen(found, profile, 1),
              HasSubstr("elixir-profile says that all of it fits the GPU (23.0 GiB for the "
                        "process); a plan that keeps it there is given 25.0 GiB: 22.0 GiB "
                        "allocated, 1.00 GiB of context, 2.00 GiB that the allocator may hold"));
}

search::Infeasible refusal() {
  search::Infeasible no;
  no.binding_limit = search::BindingLimit::kGpuMemory;
  no.shortfall_bytes = 2_GiB;
  no.minimum_gpu_memory_bytes = 100_GiB;
  no.remedies = {{"buy another"}};
  schedule::MemoryPeak peak;
  peak.bytes = 96_GiB;
  peak.workspace_bytes = 1_GiB;
  peak.by_category_bytes[static_cast<std::size_t>(program::Category::kActivation)] = 93_GiB;
  no.least_peak = peak;
  return no;
}

TEST(RefusalScreen, SaysWhatCannotBeMoved) {
  const std::string text = refusal_screen(refusal());
  EXPECT_THAT(text, HasSubstr("no feasible plan: GPU memory is short of 2,147,483,648 bytes"));
  EXPECT_THAT(text,
              HasSubstr("= note: of the least, 93.0 GiB are activations, 1.00 GiB workspaces: no "
                        "plan moves them\n"));
  EXPECT_THAT(text, HasSubstr("= help: buy another\n"));
}

TEST(BudgetsScreen, HasARowForEachBudget) {
  const std::string text =
      budgets_screen({{16_GiB, refusal()}, {24_GiB, found_of(plan_of(4, 1, 2))}},
                     profile_of({8, 512}, program::DType::kInt64));
  EXPECT_THAT(text, HasSubstr("no plan: 2.00 GiB short of GPU memory\n"));
  EXPECT_THAT(text, HasSubstr("8,192 tokens/s"));
  EXPECT_THAT(text, HasSubstr("1 of 4 chunks keeps its parameters on the host, 2 their optimizer"));
}

}  // namespace
}  // namespace elixir::report
