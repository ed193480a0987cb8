// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares plans of every strategy for small programs with files that a person accepted.
// ELIXIR_TEST_ACCEPT=1 rewrites them and skips the test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "search/search.h"

namespace elixir::search {
namespace {

/// Drops fingerprints and times, because they change with documents and the cost model and say
/// nothing about the search. Keeps memory, traffic and every choice.
std::string choices_of(const plan::Plan& plan) {
  Json document = plan::to_json(plan);
  document["programs"][0]["fingerprint"] = std::string(64, '0');
  document["hardware"]["fingerprint"] = std::string(64, '0');
  document["predicted"]["step_ns"] = 0;
  document["predicted"]["streams"] = Json::array();
  return dump(document);
}

void compare(const std::string& name,
             const std::string& strategy,
             bool cuda,
             std::int64_t gpu_memory_bytes) {
  fakes::TransformerOptions options;
  options.layers = 2;
  options.hidden = 256;
  options.vocabulary = 2000;
  options.tokens = 16;
  options.dtype = cuda ? program::DType::kBFloat16 : program::DType::kFloat32;
  program::Program program = fakes::transformer(options);
  if (cuda) program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  Request request;
  request.strategy = strategy;
  request.gpu_memory_bytes = gpu_memory_bytes;
  const Outcome outcome = search(program, fakes::machine(cuda), request);
  ASSERT_TRUE(std::holds_alternative<Found>(outcome))
      << std::get<Infeasible>(outcome).minimum_gpu_memory_bytes;
  const std::string text = choices_of(std::get<Found>(outcome).plan);
  const std::filesystem::path path =
      std::filesystem::path(ELIXIR_GOLDEN) / ("plan-" + name + ".json");
  if (std::getenv("ELIXIR_TEST_ACCEPT") != nullptr) {
    write_file(path.string(), text, Overwrite::kAllow);
    GTEST_SKIP() << "accepted " << path;
  }
  EXPECT_TRUE(text == read_file(path.string()))
      << path << " differs; ELIXIR_TEST_ACCEPT=1 writes it anew for `git diff`";
}

TEST(GoldenPlan, OptimalOnTheCpu) {
  compare("optimal-cpu", "optimal", false, 24_MiB);
}
TEST(GoldenPlan, OptimalOnAGpu) {
  compare("optimal-cuda", "optimal", true, 624_MiB);
}
TEST(GoldenPlan, SimpleOnTheCpu) {
  compare("simple-cpu", "simple", false, 24_MiB);
}
TEST(GoldenPlan, MinimumWasteOnTheCpu) {
  compare("minimum-waste-cpu", "minimum-waste", false, 24_MiB);
}
TEST(GoldenPlan, ElixirOnAGpu) {
  compare("elixir-cuda", "elixir", true, 660_MiB);
}

}  // namespace
}  // namespace elixir::search
