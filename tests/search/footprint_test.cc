// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What the search counts for a placement is what its plan takes.
#include "search/footprint.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/sanitizer.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "search/placements.h"
#include "search/problem.h"
#include "search/searching.h"

namespace elixir::search {
namespace {

void expect_as_in_plan(const Problem& problem,
                       const PlacementSpace& space,
                       const Placement& placement) {
  const Evaluated evaluated = space.evaluate(placement);
  EXPECT_EQ(space.device_bytes(placement), evaluated.simulation.device_buffer_bytes);
  EXPECT_EQ(space.host_bytes(placement), evaluated.simulation.host_bytes);
  plan::Plan plan = evaluated.plan;
  problem.set_cache(plan, placement.blocks);
  EXPECT_EQ(evaluated.plan.cache.blocks, plan.cache.blocks);
  EXPECT_EQ(evaluated.plan.cache.block_bytes, plan.cache.block_bytes);
  EXPECT_EQ(space.blocks(placement), plan.cache.blocks);
  // The places that were used instead of names are those of the names.
  const std::vector<plan::Place> places = plan::locate_parameters(plan, problem.program());
  const Packing& packing = space.packings()[placement.packing];
  for (std::size_t p = 0; p < places.size(); ++p) {
    EXPECT_EQ(packing.places[p].chunk, places[p].chunk);
    EXPECT_EQ(packing.places[p].offset_bytes, places[p].offset_bytes);
  }
}

void expect_as_in_plans(const program::Program& program, const Request& request) {
  const hardware::HardwareProfile hardware = fakes::machine(false);
  const Edits edits{.fingerprint = program::fingerprint(program), .edits = {}};
  const Problem problem(program, edits, hardware, request);
  const PlacementSpace space(problem);
  for (std::size_t p = 0; p < space.packings().size(); ++p) {
    const std::size_t chunks = space.packings()[p].chunks.size();
    for (std::size_t resident = 0; resident <= chunks; resident += 1 + chunks / 4) {
      for (std::size_t streamed = 0; streamed <= chunks; streamed += 1 + chunks / 3) {
        for (const std::int64_t blocks : {0, 3, 100}) {
          expect_as_in_plan(problem,
                            space,
                            {.packing = p,
                             .resident = resident,
                             .streamed_optimizer = streamed,
                             .blocks = blocks});
        }
      }
    }
  }
}

TEST(Footprint, OfRandomProgramsIsThatOfTheirPlans) {
  const std::uint64_t seeds = kUnderAddressSanitizer ? 2 : 11;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const program::Program program = fakes::random_program(seed);
    for (const int steps : {1, 2}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", steps " + std::to_string(steps));
      expect_as_in_plans(program, {.accumulation_steps = steps});
      expect_as_in_plans(program,
                         {.accumulation_steps = steps, .optimizer = program::Optimizer::kNone});
      for (const int gpus : {2, 3}) {
        expect_as_in_plans(program, {.gpus = gpus, .accumulation_steps = steps});
      }
      expect_as_in_plans(
          program,
          {.gpus = 2, .accumulation_steps = steps, .optimizer = program::Optimizer::kNone});
    }
  }
}

TEST(Packings, OfRanksWithShardsAreFilled) {
  fakes::TransformerOptions options;
  options.layers = 3;
  options.hidden = 256;
  options.vocabulary = 1000;
  options.tokens = 16;
  const program::Program program = for_cuda(fakes::transformer(options));
  const Edits edits{.fingerprint = program::fingerprint(program), .edits = {}};
  const Request request{.gpus = 2};
  const hardware::HardwareProfile hardware = fakes::machine_of(2);
  const Problem problem(program, edits, hardware, request);
  std::map<std::string, std::int64_t> bytes_of;  // by a parameter's name
  for (const program::Parameter& parameter : program.parameters) {
    bytes_of[parameter.name] = parameter.tensor.bytes();
  }
  const PlacementSpace space(problem);
  EXPECT_GT(space.packings().front().capacity_bytes, 0);
  int unfilled = 0;
  for (const Packing& packing : space.packings()) {
    std::vector<std::int64_t> sums;  // without padding
    for (std::size_t c = 0; c < packing.chunks.size(); ++c) {
      if (packing.chunks[c].kind == plan::Chunk::Kind::kPrivate) continue;
      sums.push_back(0);
      for (const plan::ChunkParameter& member : packing.names[c])
        sums.back() += bytes_of[member.name];
    }
    if (packing.capacity_bytes == 0) {  // every parameter is a chunk
      ++unfilled;
      continue;
    }
    // A chunk ends only where the next parameters do not fit.
    for (std::size_t c = 0; c + 1 < sums.size(); ++c) {
      EXPECT_GT(sums[c] + sums[c + 1], packing.capacity_bytes) << c;
    }
  }
  EXPECT_LE(unfilled, 1);
}

TEST(Footprint, CountsTheGradientsOfSeveralStepsThatAreKept) {
  fakes::TransformerOptions options;
  options.layers = 3;
  options.hidden = 64;
  options.vocabulary = 100;
  options.tokens = 16;
  options.dtype = program::DType::kBFloat16;
  const program::Program program = for_cuda(fakes::transformer(options));
  const Edits edits{.fingerprint = program::fingerprint(program), .edits = {}};
  for (const int gpus : {1, 2}) {
    const hardware::HardwareProfile hardware =
        gpus == 1 ? fakes::machine(true) : fakes::machine_of(gpus);
    const Request request{.gpus = gpus};
    const Problem problem(program, edits, hardware, request);
    const PlacementSpace space(problem);
    Placement placement{.late_moments = kUpdateShares / 2};
    const std::int64_t once = space.host_bytes(placement);
    expect_as_in_plan(problem, space, placement);
    for (const int kept : {2, 3}) {
      placement.kept_gradients = kept;
      expect_as_in_plan(problem, space, placement);
      EXPECT_GT(space.host_bytes(placement), once);
    }
  }
}

TEST(Footprint, CountsStagingInBFloat16) {
  fakes::TransformerOptions options;
  options.layers = 3;
  options.hidden = 128;
  options.vocabulary = 4000;  // a chunk of its own that does not go through the cache
  options.tokens = 16;
  options.dtype = program::DType::kBFloat16;
  expect_as_in_plans(fakes::transformer(options), {});
}

}  // namespace
}  // namespace elixir::search
