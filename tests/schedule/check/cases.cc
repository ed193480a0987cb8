// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/check/cases.h"

#include <random>
#include <vector>

#include "core/error.h"
#include "edit/offload.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"
#include "schedule/plans.h"

namespace elixir::fakes {

using plan::Home;

schedule::Schedule lower_case(const Case& c) {
  return lower(c.program, program::analyse_lifetimes(c.program), c.plan, c.lowering);
}

Case random_case(std::uint64_t seed) {
  std::mt19937_64 random(seed * 77 + 1);
  Case result;
  result.program = random_program(seed);
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
  result.plan = lay_out(result.program, options);
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
  for (plan::Chunk& chunk : result.plan.chunks) {
    chunk.late_moments = result.lowering.clip_gradients && chunk.optimizer_home == Home::kHost &&
                         chunk.gradient_home == Home::kHost && random() % 2 == 0;
  }
  result.plan.kept_gradients = 1 + static_cast<int>(random() % 3);
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

Case offloaded() {
  Case c;
  c.program = mlp({64, 64, 64, 64}, 4);
  c.program = edit::offload(c.program, edit::offloadable(c.program), 0);
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 2;
  options.accumulation_steps = 2;
  c.plan = lay_out(c.program, options);
  return c;
}

}  // namespace elixir::fakes
