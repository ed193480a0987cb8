// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/searching.h"

#include <algorithm>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/program_builder.h"
#include "hardware/operator_cost.h"
#include "program/lifetimes.h"
#include "schedule/edited_program.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "search/optimal.h"

namespace elixir::search {

using ::testing::IsEmpty;

program::Program small_transformer(program::DType dtype) {
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

}  // namespace elixir::search
