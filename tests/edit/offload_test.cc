// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "core/error.h"
#include "core/sanitizer.h"
#include "edit/activations.h"
#include "edit/recompute.h"
#include "edit/symbolic_run.h"
#include "fakes/program_builder.h"
#include "operators/own.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using fakes::ProgramBuilder;
using operators::Movement;
using operators::movement_of;
using program::Operator;
using program::Program;
using program::StorageId;
using program::TensorRef;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using tests::run_symbolically;
using tests::SymbolicResult;

const Program& layers() {
  static const Program program =
      fakes::transformer({.layers = 4, .vocabulary = 32, .tokens = 1024});
  return program;
}

StorageId storage_at(const Operator& op, std::size_t position) {
  return std::get<TensorRef>(op.arguments.at(position)).storage;
}

/// The most bytes that move at once: out of forward, and back before backward needs them.
struct Moving {
  std::int64_t out_bytes = 0, back_bytes = 0;
};
Moving most_moving(const Program& program) {
  Moving now, most;
  for (const Operator& op : program.operators) {
    const auto bytes = [&](std::size_t position) {
      return program.storages[storage_at(op, position)].bytes;
    };
    switch (movement_of(op.name)) {
      case Movement::kNone:
        break;
      case Movement::kOffloadBegin:
        now.out_bytes += bytes(0);
        break;
      case Movement::kOffloadEnd:
        now.out_bytes -= bytes(0);
        break;
      case Movement::kReloadBegin:
        now.back_bytes += bytes(0);
        break;
      case Movement::kReloadEnd:
        now.back_bytes -= bytes(0);
        break;
    }
    // Between two calls that compute.
    if (movement_of(op.name) != Movement::kNone) continue;
    most.out_bytes = std::max(most.out_bytes, now.out_bytes);
    most.back_bytes = std::max(most.back_bytes, now.back_bytes);
  }
  EXPECT_EQ(now.out_bytes, 0);
  EXPECT_EQ(now.back_bytes, 0);
  return most;
}

TEST(Offload, NothingChosenLeavesTheProgram) {
  EXPECT_EQ(program::fingerprint(offload(layers(), {}, 0)), program::fingerprint(layers()));
}

TEST(Offload, AllActivationsThatBackwardReadsCanWaitOnTheHost) {
  std::vector<StorageId> can = offloadable(layers());
  std::sort(can.begin(), can.end());
  EXPECT_EQ(can, kept_activations(layers()));
  EXPECT_GT(can.size(), 20U);
}

TEST(Offload, ComputesTheSameWithLessMemory) {
  const SymbolicResult before = run_symbolically(layers());
  const std::vector<StorageId> all = offloadable(layers());
  std::int64_t all_bytes = 0;
  for (const StorageId s : all) all_bytes += layers().storages[s].bytes;
  const Program edited = offload(layers(), all, 0);
  const SymbolicResult after = run_symbolically(edited);
  EXPECT_TRUE(after.computes_the_same_as(before));
  EXPECT_LT(after.peak_bytes, before.peak_bytes / 2);
  EXPECT_EQ(offloaded_bytes(edited), all_bytes);
  EXPECT_EQ(kept_bytes(edited), 0);
  EXPECT_NE(program::fingerprint(edited), program::fingerprint(layers()));
}

TEST(Offload, AWindowLimitsWhatMoves) {
  const std::vector<StorageId> all = offloadable(layers());
  const Moving none = most_moving(offload(layers(), all, 0));
  EXPECT_EQ(none.back_bytes, 0);
  const std::int64_t window_bytes = offload_window_bytes(layers(), all);
  const Moving some = most_moving(offload(layers(), all, window_bytes));
  EXPECT_GT(some.back_bytes, 0);
  EXPECT_LE(some.back_bytes, window_bytes);
  EXPECT_GT(some.out_bytes, none.out_bytes);
}

TEST(Offload, GoesTogetherWithRecomputing) {
  const SymbolicResult before = run_symbolically(layers());
  const Program recomputed = recompute(layers(), choose(layers(), Recompute::kBlocks)).program;
  const Program edited = offload(recomputed, offloadable(recomputed), 0);
  const SymbolicResult after = run_symbolically(edited);
  EXPECT_TRUE(after.computes_the_same_as(before));
  EXPECT_LT(after.peak_bytes, run_symbolically(recomputed).peak_bytes);
  std::int64_t repeats = 0;
  for (const Operator& op : edited.operators) {
    if (op.repeats < 0) continue;
    EXPECT_EQ(edited.operators[op.repeats].name, op.name);
    ++repeats;
  }
  EXPECT_GT(repeats, 0);
}

TEST(Offload, WhatBackwardWritesStaysAndWhatForwardWritesInPlaceLeavesAfterwards) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4, 4});
  const TensorRef x = b.input("x", {4, 4}, program::DType::kFloat32);
  const TensorRef product = b.call("aten::mm", {x, w}, {4, 4}, 128);
  const TensorRef positive = b.write("aten::relu_", product, {});
  const TensorRef squared = b.call("aten::mul", {positive, positive}, {4, 4});
  b.set_loss(b.call("aten::sum", {squared}, {}));
  b.start_backward();
  const TensorRef twice = b.write("aten::mul_", squared, {positive});
  b.set_gradient(w, b.call("aten::mm", {x, twice}, {4, 4}, 128));
  const Program program = b.build();
  EXPECT_THAT(offloadable(program), ElementsAre(product.storage));
  EXPECT_EQ(not_offloadable(program, {product.storage, squared.storage}), squared.storage);
  const Program edited = offload(program, {product.storage}, 1 << 20);
  std::vector<std::string> names;
  for (const Operator& op : edited.operators) names.push_back(op.name);
  EXPECT_THAT(names,
              ElementsAre("aten::mm",
                          "aten::relu_",
                          "elixir::offload_begin",
                          "aten::mul",
                          "aten::sum",
                          "elixir::offload_end",
                          "elixir::reload_begin",
                          "elixir::reload_end",
                          "aten::mul_",
                          "aten::mm"));
  EXPECT_TRUE(run_symbolically(edited).computes_the_same_as(run_symbolically(program)));
}

TEST(Offload, RefusesWhatIsNoActivation) {
  const StorageId parameter = layers().parameters[0].tensor.storage;
  EXPECT_EQ(not_offloadable(layers(), {parameter}), parameter);
  EXPECT_EQ(not_offloadable(layers(), {-1}), -1);
  EXPECT_THAT(offloadable(layers()), Not(Contains(layers().loss.storage)));
  EXPECT_THROW(static_cast<void>(offload(layers(), {parameter}, 0)), Error);
  EXPECT_THROW(static_cast<void>(offload(layers(), {1 << 20}, 0)), Error);
}

TEST(Offload, ManyRandomProgramsComputeTheSameWithAnyActivationsOnTheHost) {
  constexpr std::uint64_t kPrograms = kUnderAddressSanitizer ? 200 : 2000;
  std::int64_t copies = 0;
  std::size_t second_copies = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    Program program = fakes::random_program(seed);
    const SymbolicResult before = run_symbolically(program);
    std::mt19937_64 random(seed);
    if (seed % 3 == 0) {
      std::vector<StorageId> again = kept_activations(program);
      std::erase_if(again, [&](StorageId) { return random() % 2 == 0; });
      program = recompute(program, again).program;
    }
    std::vector<StorageId> chosen = offloadable(program);
    if (seed % 4 != 0) std::erase_if(chosen, [&](StorageId) { return random() % 2 == 0; });
    std::shuffle(chosen.begin(), chosen.end(), random);
    const auto window_bytes = static_cast<std::int64_t>(random() % 4 * 10'000);
    const Program edited = offload(program, chosen, window_bytes);
    ASSERT_TRUE(run_symbolically(edited).computes_the_same_as(before)) << "seed " << seed;
    ASSERT_LE(most_moving(edited).back_bytes, window_bytes) << "seed " << seed;
    std::map<Movement, std::size_t> movements;
    for (const Operator& op : edited.operators) ++movements[movement_of(op.name)];
    ASSERT_EQ(movements[Movement::kOffloadBegin], chosen.size()) << "seed " << seed;
    ASSERT_EQ(movements[Movement::kReloadEnd], chosen.size()) << "seed " << seed;
    copies += static_cast<std::int64_t>(chosen.size());

    // What is left may be offloaded by a second edit, and nothing twice.
    const std::vector<StorageId> left = offloadable(edited);
    const Program twice = offload(edited, left, window_bytes);
    ASSERT_TRUE(run_symbolically(twice).computes_the_same_as(before)) << "seed " << seed;
    std::map<StorageId, int> leaves;
    for (const Operator& op : twice.operators) {
      if (movement_of(op.name) == Movement::kOffloadBegin) ++leaves[storage_at(op, 0)];
    }
    for (const auto& [storage, times] : leaves) ASSERT_EQ(times, 1) << "seed " << seed;
    second_copies += left.size();
  }
  EXPECT_GT(second_copies, std::size_t{kPrograms} / 2);
  EXPECT_GT(copies, static_cast<std::int64_t>(kPrograms));
}

}  // namespace
}  // namespace elixir::edit
