// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"
#include "core/sanitizer.h"
#include "edit/activations.h"
#include "edit/symbolic_run.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using fakes::ProgramBuilder;
using program::Operator;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::run_symbolically;
using tests::SymbolicResult;

std::vector<std::string> copies_of(const Program& program) {
  std::vector<std::string> names;
  for (const Operator& op : program.operators) {
    if (op.repeats >= 0) names.push_back(op.name);
  }
  return names;
}

const Program& transformer() {
  static const Program program =
      fakes::transformer({.layers = 4, .vocabulary = 32, .tokens = 1024});
  return program;
}

TEST(Blocks, AreTheLayersOfAModel) {
  const std::vector<std::int32_t> block = blocks_of(transformer());
  for (const Operator& op : transformer().operators) {
    const std::string& path = op.module < 0 ? "" : transformer().modules[op.module];
    const bool inside = path.starts_with("h.");
    EXPECT_EQ(block[op.id], inside ? path[2] - '0' : -1) << op.name << " in " << path;
  }
}

TEST(Recompute, NothingChosenLeavesTheProgram) {
  EXPECT_THAT(choose(transformer(), Recompute::kNone), IsEmpty());
  const Recomputed result = recompute(transformer(), {});
  EXPECT_EQ(program::fingerprint(result.program), program::fingerprint(transformer()));
}

TEST(Recompute, BlocksKeepTheirInputsAndComputeTheSame) {
  const SymbolicResult before = run_symbolically(transformer());
  std::int64_t peak = before.peak_bytes;
  std::size_t activations = kept_activations(transformer()).size();
  for (const Recompute recomputed : {Recompute::kElementwise, Recompute::kBlocks}) {
    SCOPED_TRACE(name_of(recomputed));
    const Recomputed result = recompute(transformer(), choose(transformer(), recomputed));
    EXPECT_THAT(result.kept, IsEmpty());
    const SymbolicResult after = run_symbolically(result.program);
    EXPECT_TRUE(after.computes_the_same_as(before));
    EXPECT_LT(after.peak_bytes, peak);
    EXPECT_GT(after.operators, before.operators);
    EXPECT_LT(kept_activations(result.program).size(), activations);
    peak = after.peak_bytes;
    activations = kept_activations(result.program).size();
  }
}

TEST(Recompute, ParametersOutliveTheCopies) {
  const Program edited =
      recompute(transformer(), choose(transformer(), Recompute::kBlocks)).program;
  ASSERT_GT(edited.operators.size(), transformer().operators.size());
  for (const program::Parameter& parameter : edited.parameters) {
    EXPECT_EQ(edited.storages[parameter.tensor.storage].freed_after,
              static_cast<program::OperatorId>(edited.operators.size()))
        << parameter.name;
  }
}

TEST(Recompute, ElementwiseRepeatsNoProductAndNoAttention) {
  const Recomputed result =
      recompute(transformer(), choose(transformer(), Recompute::kElementwise));
  EXPECT_FALSE(copies_of(result.program).empty());
  for (const Operator& op : result.program.operators) {
    if (op.repeats < 0) continue;
    EXPECT_EQ(op.flops, 0) << op.name;
    EXPECT_THAT(op.name, testing::Not(HasSubstr("attention")));
  }
}

TEST(Recompute, ACopyComesRightBeforeItsFirstReaderAndSaysWhomItRepeats) {
  const Recomputed result = recompute(transformer(), choose(transformer(), Recompute::kBlocks));
  const Program& program = result.program;
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::int32_t seen = 4;
  for (const Operator& op : program.operators) {
    if (op.repeats < 0) continue;
    const Operator& original = program.operators[op.repeats];
    EXPECT_EQ(op.phase, Phase::kBackward);
    EXPECT_EQ(original.phase, Phase::kForward);
    EXPECT_EQ(original.name, op.name);
    EXPECT_EQ(original.module, op.module);
    // The last block comes first. No block returns after another one has begun.
    const std::int32_t block = program.modules[op.module][2] - '0';
    EXPECT_LE(block, seen);
    seen = block;
  }
  EXPECT_EQ(seen, 0);
}

TEST(Recompute, WhatIsWrittenInPlaceIsWrittenAgain) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4, 4});
  const TensorRef x = b.input("x", {4, 4}, program::DType::kFloat32);
  const TensorRef product = b.call("aten::mm", {x, w}, {4, 4}, 128);
  const TensorRef positive = b.write("aten::relu_", product, {});
  b.set_loss(b.call("aten::sum", {positive}, {}));
  b.start_backward();
  const TensorRef mask = b.call("aten::threshold_backward", {positive}, {4, 4});
  b.set_gradient(w, b.call("aten::mm", {x, mask}, {4, 4}, 128));
  const Program program = b.build();
  const Recomputed result = recompute(program, {product.storage});
  EXPECT_THAT(copies_of(result.program), testing::ElementsAre("aten::mm", "aten::relu_"));
  EXPECT_TRUE(run_symbolically(result.program).computes_the_same_as(run_symbolically(program)));
}

TEST(Recompute, WhatWasOverwrittenMeanwhileKeepsItsReader) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4, 4});
  const TensorRef x = b.input("x", {4, 4}, program::DType::kFloat32);
  const TensorRef product = b.call("aten::mm", {x, w}, {4, 4}, 128);
  const TensorRef squared = b.call("aten::mul", {product, product}, {4, 4});
  const TensorRef later = b.write("aten::add_", product, {squared});
  b.set_loss(b.call("aten::sum", {later}, {}));
  b.start_backward();
  b.set_gradient(w, b.call("aten::mm", {squared, later}, {4, 4}, 128));
  const Program program = b.build();
  const Recomputed result = recompute(program, {squared.storage});
  ASSERT_EQ(result.kept.size(), 1U);
  EXPECT_EQ(result.kept[0].storage, squared.storage);
  EXPECT_EQ(program.operators[result.kept[0].op].name, "aten::mul");
  EXPECT_THAT(result.kept[0].reason, HasSubstr("overwritten"));
  EXPECT_THAT(copies_of(result.program), IsEmpty());
  EXPECT_TRUE(run_symbolically(result.program).computes_the_same_as(run_symbolically(program)));
}

TEST(Recompute, ABatchNormWhoseInputWasOverwrittenMeanwhileIsNotRepeated) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4});
  const TensorRef mean = b.buffer("mean", {4}), variance = b.buffer("variance", {4});
  const TensorRef x = b.input("x", {2, 4}, program::DType::kFloat32);
  const TensorRef scaled = b.call("aten::mul", {x, w}, {2, 4});
  const TensorRef normal =
      b.call("aten::native_batch_norm", {scaled, w, w, mean, variance}, {2, 4});
  const TensorRef later = b.write("aten::add_", scaled, {normal});
  b.set_loss(b.call("aten::sum", {later}, {}));
  b.start_backward();
  b.set_gradient(w, b.call("aten::mul", {normal, later}, {4}));
  Program program = b.build();
  for (Operator& op : program.operators) {
    if (op.name == "aten::native_batch_norm") op.arguments.emplace_back(true);  // training
  }
  const Recomputed result = recompute(program, {normal.storage});
  ASSERT_EQ(result.kept.size(), 1U);
  EXPECT_EQ(result.kept[0].storage, normal.storage);
  EXPECT_THAT(result.kept[0].reason, HasSubstr("overwritten"));
}

TEST(Recompute, BatchNormsCopyLeavesTheStatisticsAlone) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4});
  const TensorRef mean = b.buffer("mean", {4}), variance = b.buffer("variance", {4});
  const TensorRef x = b.input("x", {2, 4}, program::DType::kFloat32);
  const TensorRef scaled = b.call("aten::mul", {x, w}, {2, 4});
  const TensorRef normal =
      b.call("aten::native_batch_norm", {scaled, w, w, mean, variance}, {2, 4});
  const TensorRef active = b.call("aten::gelu", {normal}, {2, 4});
  b.set_loss(b.call("aten::sum", {active}, {}));
  b.start_backward();
  const TensorRef back = b.call("aten::gelu_backward", {normal}, {2, 4});
  b.set_gradient(w, b.call("aten::native_batch_norm_backward", {back, scaled}, {4}));
  Program program = b.build();
  for (Operator& op : program.operators) {
    if (op.name == "aten::native_batch_norm") op.arguments.emplace_back(true);  // training
  }
  const Recomputed result = recompute(program, {normal.storage});
  EXPECT_THAT(copies_of(result.program), testing::ElementsAre("aten::native_batch_norm"));
  for (const Operator& op : result.program.operators) {
    if (op.repeats < 0) continue;
    program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
      EXPECT_NE(tensor.storage, mean.storage);
      EXPECT_NE(tensor.storage, variance.storage);
    });
  }
  EXPECT_TRUE(run_symbolically(result.program).computes_the_same_as(run_symbolically(program)));
}

TEST(Recompute, WhatReadsStatisticsBeforeTheyAreUpdatedIsNotRepeated) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4});
  const TensorRef mean = b.buffer("mean", {4}), variance = b.buffer("variance", {4});
  const TensorRef x = b.input("x", {2, 4}, program::DType::kFloat32);
  const TensorRef centred = b.call("aten::sub", {x, mean}, {2, 4});
  const TensorRef normal =
      b.call("aten::native_batch_norm", {centred, w, w, mean, variance}, {2, 4});
  b.set_loss(b.call("aten::sum", {normal}, {}));
  b.start_backward();
  b.set_gradient(w, b.call("aten::mul", {centred, x}, {4}));
  Program program = b.build();
  for (Operator& op : program.operators) {
    if (op.name == "aten::native_batch_norm") op.arguments.emplace_back(true);  // training
  }
  const Recomputed result = recompute(program, {centred.storage});
  ASSERT_EQ(result.kept.size(), 1U);
  EXPECT_EQ(result.kept[0].storage, centred.storage);
  EXPECT_THAT(result.kept[0].reason, HasSubstr("overwritten"));
}

TEST(Recompute, ASecondResultThatIsKeptStaysTheFirstOne) {
  ProgramBuilder b;
  const TensorRef w = b.parameter("w", {4, 4});
  const TensorRef x = b.input("x", {4, 4}, program::DType::kFloat32);
  const TensorRef normal = b.call("aten::native_layer_norm", {x, w}, {4, 4});
  b.set_loss(b.call("aten::sum", {normal}, {}));
  b.start_backward();
  const TensorRef back = b.call("aten::native_layer_norm_backward", {normal}, {4, 4});
  b.set_gradient(w, b.call("aten::mm", {back, x}, {4, 4}, 128));
  Program program = b.build();
  TensorRef mean = normal;
  mean.storage = static_cast<StorageId>(program.storages.size());
  mean.sizes = {4, 1};
  program::Storage storage = program.storages[normal.storage];
  storage.id = mean.storage;
  program.storages.push_back(storage);
  for (Operator& op : program.operators) {
    if (op.name == "aten::native_layer_norm") op.outputs.emplace_back(mean);
    if (op.name == "aten::native_layer_norm_backward") op.arguments.emplace_back(mean);
  }
  const Recomputed result = recompute(program, {normal.storage});
  const Operator& reader = *std::find_if(
      result.program.operators.begin(), result.program.operators.end(), [](const Operator& op) {
        return op.name == "aten::native_layer_norm_backward";
      });
  EXPECT_NE(std::get<TensorRef>(reader.arguments[0]).storage, normal.storage);
  EXPECT_EQ(std::get<TensorRef>(reader.arguments[1]).storage, mean.storage);
  EXPECT_TRUE(run_symbolically(result.program).computes_the_same_as(run_symbolically(program)));
}

TEST(Recompute, RefusesWhatIsNoActivation) {
  const StorageId parameter = transformer().parameters[0].tensor.storage;
  EXPECT_THROW(static_cast<void>(recompute(transformer(), {parameter})), Error);
  EXPECT_THROW(static_cast<void>(recompute(transformer(), {1 << 20})), Error);
}

TEST(Recompute, ManyRandomProgramsComputeTheSameWithAnyActivationsRecomputed) {
  constexpr std::uint64_t kPrograms = kUnderAddressSanitizer ? 200 : 2000;
  std::int64_t copies = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Program program = fakes::random_program(seed);
    const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
    const SymbolicResult before = run_symbolically(program);
    std::mt19937_64 random(seed);
    std::vector<StorageId> chosen;
    for (const Operator& op : program.operators) {
      if (op.phase != Phase::kForward) continue;
      program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
        if (lifetimes.storages[tensor.storage].producer == op.id) chosen.push_back(tensor.storage);
      });
    }
    if (seed % 4 != 0) std::erase_if(chosen, [&](StorageId) { return random() % 2 == 0; });
    const Recomputed result = recompute(program, chosen);
    const SymbolicResult after = run_symbolically(result.program);
    ASSERT_TRUE(after.computes_the_same_as(before)) << "seed " << seed;
    copies += static_cast<std::int64_t>(copies_of(result.program).size());
    if (seed % 4 == 0 && result.kept.empty()) {
      ASSERT_THAT(kept_activations(result.program), IsEmpty()) << "seed " << seed;
    }
  }
  EXPECT_GT(copies, static_cast<std::int64_t>(kPrograms));
}

}  // namespace
}  // namespace elixir::edit
