// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/units.h"
#include "fakes/program_builder.h"
#include "operators/scratch/call_script.h"

namespace elixir::memory {
namespace {

program::Program cuda(program::Program program) {
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  return program;
}

std::int64_t sum(const ByCategory& bytes) {
  std::int64_t total = 0;
  for (const std::int64_t part : bytes) total += part;
  return total;
}

// Computes one number in two ways: from the program's lifetimes, and from the events of its
// allocator.
TEST(TrainingStep, WithoutScratchMemoryIsTheTimelineOfTheProgram) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const TrainingStep step = predict_step(program, program::Optimizer::kAdamW, {}, {});
    const Timeline expected =
        make_timeline(program, optimizer_state_bytes(program, program::Optimizer::kAdamW));
    EXPECT_EQ(step.timeline.allocated_bytes, expected.allocated_bytes) << seed;
    EXPECT_EQ(step.timeline.by_category_bytes, expected.by_category_bytes) << seed;
    EXPECT_EQ(step.timeline.peak_bytes, expected.peak_bytes) << seed;
    EXPECT_EQ(step.timeline.peak_operator, expected.peak_operator) << seed;
    EXPECT_EQ(step.timeline.peak_by_category_bytes, expected.peak_by_category_bytes) << seed;
    EXPECT_EQ(step.timeline.activations_peak_bytes, expected.activations_peak_bytes) << seed;
    EXPECT_EQ(step.memory.peak_allocated_bytes, expected.peak_bytes) << seed;
    EXPECT_FALSE(step.memory.peak_reserved_bytes.has_value());
    EXPECT_FALSE(step.with_scratch);
    EXPECT_EQ(step.timeline.peak_scratch_bytes, 0);
  }
}

TEST(TrainingStep, OnCudaIsWhatTheAllocatorSays) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const program::Program program = cuda(fakes::random_program(seed));
    const TrainingStep step = predict_step(program, program::Optimizer::kAdamW, {}, {});
    const TrainingMemory training =
        predict_training(program, program::Optimizer::kAdamW, {}, {}, unlimited_device());
    EXPECT_EQ(step.memory.peak_allocated_bytes, training.steps.back().peak_allocated_bytes);
    EXPECT_EQ(step.memory.peak_reserved_bytes, training.peak_reserved_bytes);
    EXPECT_EQ(step.timeline.peak_bytes, step.memory.peak_allocated_bytes);
    EXPECT_TRUE(step.with_scratch);
    for (std::size_t op = 0; op < program.operators.size(); ++op) {
      EXPECT_EQ(sum(step.timeline.by_category_bytes[op]) + step.timeline.scratch_bytes[op],
                step.timeline.allocated_bytes[op]);
    }
  }
}

TEST(TrainingStep, WhatIsAliveAddsUpToThePeak) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto form = program::kOptimizerForms.entries[seed % 4].value;
    const bool is_adafactor = seed % 3 == 0 && (form == program::OptimizerForm::kTorchForeach ||
                                                form == program::OptimizerForm::kTorchLoop);
    const auto optimizer =
        is_adafactor ? program::Optimizer::kAdafactor : program::Optimizer::kAdamW;
    const TrainingStep step =
        predict_step(cuda(fakes::random_program(seed)), {optimizer, form, seed % 5 == 0}, {}, {});
    std::int64_t tensors = 0;
    for (const LiveStorage& live : step.timeline.live_at_peak) tensors += live.bytes;
    std::int64_t state = 0;
    for (const auto& live : step.timeline.optimizer_state_at_peak) state += live.bytes;
    std::int64_t scratch = 0;
    for (const LiveScratch& live : step.timeline.scratch_at_peak) scratch += live.bytes;
    EXPECT_EQ(tensors + state + scratch, step.timeline.peak_bytes) << seed;
    EXPECT_EQ(scratch, step.timeline.peak_scratch_bytes) << seed;
  }
}

// AdamW's square roots are the largest thing here: as much as all parameters with gradients.
TEST(TrainingStep, OfTorchMayHaveItsPeakInTheUpdate) {
  using program::Optimizer;
  using program::OptimizerForm;
  const program::Program program = cuda(fakes::mlp({512, 512, 512, 512}, 1));
  const auto step_of = [&](OptimizerForm form) {
    return predict_step(program, {Optimizer::kAdamW, form}, {}, {});
  };
  const TrainingStep elixir = step_of(OptimizerForm::kElixir);
  const TrainingStep foreach = step_of(OptimizerForm::kTorchForeach);
  const TrainingStep loop = step_of(OptimizerForm::kTorchLoop);
  const TrainingStep fused = step_of(OptimizerForm::kTorchFused);
  EXPECT_GE(elixir.timeline.peak_operator, 0);
  EXPECT_EQ(foreach.timeline.peak_operator, -1);
  EXPECT_GT(foreach.memory.peak_allocated_bytes, loop.memory.peak_allocated_bytes);
  // All parameters have gradients, and their blocks are those of the square roots.
  const std::int64_t kept = 2 * 32_MiB + 1_MiB;  // of cuBLAS and cuBLASLt
  EXPECT_EQ(foreach.timeline.peak_scratch_bytes - kept, foreach.memory.parameters_bytes);
  EXPECT_EQ(foreach.memory.certainty->modelled_bytes_at_peak, 0) << "recorded";
  EXPECT_EQ(fused.memory.optimizer_bytes,
            elixir.memory.optimizer_bytes + 512 * std::ssize(program.parameters));
  for (const TrainingStep& torch : {foreach, loop, fused}) {
    EXPECT_EQ(torch.memory.certainty->exact_calls, elixir.memory.certainty->exact_calls + 1);
    EXPECT_EQ(torch.memory.certainty->modelled_calls, elixir.memory.certainty->modelled_calls);
    EXPECT_EQ(torch.timeline.peak_bytes, torch.memory.peak_allocated_bytes);
  }
}

// In which order PyTorch takes the dtypes is not known.
TEST(TrainingStep, OfTorchWithSeveralDTypesIsModelled) {
  program::Program program = cuda(fakes::mlp({512, 512, 512, 512}, 1));
  const program::Program one_dtype = program;
  program.parameters.front().tensor.dtype = program::DType::kFloat16;
  using program::Optimizer;
  using program::OptimizerForm;
  for (const program::OptimizerUse use :
       {program::OptimizerUse{Optimizer::kAdamW, OptimizerForm::kTorchForeach},
        program::OptimizerUse{Optimizer::kAdafactor, OptimizerForm::kTorchForeach},
        program::OptimizerUse{Optimizer::kAdafactor, OptimizerForm::kTorchLoop},
        program::OptimizerUse{Optimizer::kSgd, OptimizerForm::kTorchForeach, true}}) {
    const auto certainty = [&](const program::Program& of) {
      return *predict_step(of, use, {}, {}).memory.certainty;
    };
    const program::Certainty several = certainty(program);
    EXPECT_EQ(several.modelled_calls, certainty(one_dtype).modelled_calls + 1);
    EXPECT_EQ(several.modelled_operators.back().name, "torch.optim's update");
    EXPECT_GT(several.modelled_operators.back().known_bytes, 0);
    EXPECT_GE(several.modelled_bytes_at_peak, several.modelled_operators.back().known_bytes);
  }
}

TEST(TrainingStep, CountsWorkspacesThatLibrariesKeep) {
  const program::Program program = cuda(fakes::mlp({64, 64, 64}, 16));
  const TrainingStep step = predict_step(program, program::Optimizer::kNone, {}, {});
  std::int64_t kept = 0;
  for (const LiveScratch& live : step.timeline.scratch_at_peak) kept += live.kept ? live.bytes : 0;
  // cuBLAS's workspace per thread, and cuBLASLt's for layers with bias, on compute capability 9.0.
  EXPECT_EQ(kept, 2 * 32_MiB + 1_MiB);
  // They exist from the first operator of the second step on.
  EXPECT_EQ(step.timeline.scratch_bytes.front(), kept);
}

TEST(TrainingStep, TellsEstimatesFromTheRest) {
  fakes::ProgramBuilder builder(program::DType::kFloat32,
                                {.kind = program::Target::Kind::kCuda, .sm = 90});
  const auto x = builder.input("x", {8, 8}, program::DType::kFloat32);
  const auto weight = builder.parameter("weight", {8, 8});
  builder.call("aten::mm", {x, weight}, {8, 8});
  builder.call("aten::_convolution", {x, weight}, {8, 8});
  builder.call("aten::sort", {x}, {1});
  const program::Program program = builder.build();
  const TrainingStep step = predict_step(program, program::Optimizer::kNone, {}, {});
  ASSERT_TRUE(step.memory.certainty);
  const program::Certainty& certainty = *step.memory.certainty;
  EXPECT_EQ(certainty.basis(), program::Basis::kModelled);
  EXPECT_EQ(certainty.exact_calls, 1);
  EXPECT_EQ(certainty.measured_calls, 0);
  EXPECT_EQ(certainty.modelled_calls, 2);
  // The estimate of a convolution is what it reads. Of a sort, nothing is known.
  const std::vector<program::ModelledOperator> expected{
      {.name = "aten::_convolution", .calls = 1, .known_bytes = 512},
      {.name = "aten::sort", .calls = 1, .known_bytes = 0}};
  EXPECT_EQ(certainty.modelled_operators, expected);
  EXPECT_EQ(certainty.modelled_bytes_at_peak, 512) << "the convolution makes the peak";
}

TEST(TrainingStep, IsExactWhereEveryCallIs) {
  fakes::ProgramBuilder builder(program::DType::kFloat32,
                                {.kind = program::Target::Kind::kCuda, .sm = 90});
  const auto x = builder.input("x", {8, 8}, program::DType::kFloat32);
  const auto weight = builder.parameter("weight", {8, 8});
  builder.call("aten::relu", {builder.call("aten::mm", {x, weight}, {8, 8})}, {8, 8});
  const TrainingStep step = predict_step(builder.build(), program::Optimizer::kNone, {}, {});
  EXPECT_EQ(step.memory.certainty, (program::Certainty{.exact_calls = 2}));
  EXPECT_EQ(step.memory.certainty->basis(), program::Basis::kExact);
}

/// Its figure counts tensors alone, so there is nothing to label.
TEST(TrainingStep, OfACpuHasNoLabel) {
  fakes::ProgramBuilder builder;
  const auto x = builder.input("x", {8, 8}, program::DType::kFloat32);
  builder.call("aten::relu", {x}, {8, 8});
  EXPECT_EQ(predict_step(builder.build(), program::Optimizer::kNone, {}, {}).memory.certainty,
            std::nullopt);
}

TEST(TrainingStep, OfNoOperatorsIsWhatIsThere) {
  fakes::ProgramBuilder builder;
  builder.parameter("weight", {256});
  for (const bool on_cuda : {false, true}) {
    program::Program program = builder.build();
    if (on_cuda) program = cuda(program);
    const TrainingStep step = predict_step(program, program::Optimizer::kAdamW, {}, {});
    EXPECT_EQ(step.timeline.peak_bytes, 1024);
    EXPECT_EQ(step.timeline.peak_operator, -1);
    ASSERT_EQ(step.timeline.live_at_peak.size(), 1U);
  }
}

TEST(TrainingStep, SegmentsFollowTheConfiguration) {
  const program::Program program = cuda(fakes::transformer({}));
  const AllocatorConfig expandable = AllocatorConfig::parse("expandable_segments:True", "test");
  const TrainingStep step = predict_step(program, program::Optimizer::kAdamW, {}, expandable);
  const auto maps = std::count_if(step.placed.begin(), step.placed.end(), [](const auto& event) {
    return event.action == PlacedEvent::Action::kSegmentMap;
  });
  EXPECT_GT(maps, 0);
  EXPECT_EQ(step.memory.peak_allocated_bytes,
            predict_step(program, program::Optimizer::kAdamW, {}, expandable)
                .memory.peak_allocated_bytes);
}

TEST(PredictStep, CountsNcclAmongGpusThatTrainTogether) {
  const program::Program program = cuda(fakes::random_program(5));
  const TrainingStep alone = predict_step(program, program::Optimizer::kAdamW, {}, {});
  const TrainingStep two = predict_step(program, program::Optimizer::kAdamW, {}, {}, 2);
  ASSERT_TRUE(alone.memory.process_peak_bytes && two.memory.process_peak_bytes && two.nccl_bytes);
  EXPECT_EQ(*two.memory.process_peak_bytes - *alone.memory.process_peak_bytes, *two.nccl_bytes);
  EXPECT_GT(*two.nccl_bytes, 0);
  EXPECT_EQ(two.memory.peak_reserved_bytes, alone.memory.peak_reserved_bytes)
      << "NCCL does not ask the allocator";
  const TrainingStep three = predict_step(program, program::Optimizer::kAdamW, {}, {}, 3);
  EXPECT_FALSE(three.memory.process_peak_bytes) << "nobody measured";
  EXPECT_FALSE(three.nccl_bytes);
}

}  // namespace
}  // namespace elixir::memory
