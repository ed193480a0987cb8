// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/units.h"
#include "fakes/error_of.h"
#include "fakes/program_builder.h"
#include "memory/step/optimizer_update.h"
#include "operators/convolution/convolution.h"
#include "operators/scratch/call_script.h"
#include "program/workspace_answers.h"

namespace elixir::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// Blocks are split otherwise in a fresh segment than in one that was used before, so steps differ.
TEST(TrainingStep, AccountsForTheStepThatHasThePeak) {
  int steps_before_last = 0;
  for (std::int64_t width = 1200; width < 1900; width += 50) {
    const program::Program program = cuda(fakes::mlp({width, 3 * width, width, width}, 700));
    for (const auto optimizer : {program::Optimizer::kAdamW, program::Optimizer::kNone}) {
      const TrainingStep step = predict_step(program, optimizer, {}, {});
      const TrainingMemory training =
          predict_training(program, optimizer, {}, {}, unlimited_device());
      if (training.steps.back().peak_allocated_bytes < training.peak_allocated_bytes) {
        ++steps_before_last;
      }
      EXPECT_EQ(step.memory.peak_allocated_bytes, training.peak_allocated_bytes);
      EXPECT_EQ(step.timeline.peak_bytes, training.peak_allocated_bytes) << width;
      EXPECT_EQ(sum(step.timeline.peak_by_category_bytes) + step.timeline.peak_scratch_bytes,
                training.peak_allocated_bytes)
          << width;
    }
  }
  EXPECT_GT(steps_before_last, 0) << "all steps are alike: nothing is tested";
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

/// Every form is modelled, also one that asks for nothing.
TEST(TrainingStep, OfTorchOnAGpuThatNobodyRecordedIsModelled) {
  program::Program program = cuda(fakes::mlp({64, 64}, 1));
  for (const auto form : {program::OptimizerForm::kTorchForeach,
                          program::OptimizerForm::kTorchFused,
                          program::OptimizerForm::kTorchLoop}) {
    program.target.sm = 90;
    EXPECT_GT(predict_step(program, {program::Optimizer::kSgd, form}, {}, {})
                  .memory.certainty->exact_calls,
              0);
    program.target.sm = 80;
    const TrainingStep step = predict_step(program, {program::Optimizer::kSgd, form}, {}, {});
    const program::Certainty& certainty = *step.memory.certainty;
    EXPECT_EQ(certainty.basis(), program::Basis::kModelled);
    EXPECT_EQ(certainty.modelled_operators.back().name, "torch.optim's update");
    EXPECT_THAT(certainty.reasons, ElementsAre(HasSubstr("cuda:sm_80")));
    for (const program::Operator& op : program.operators) {
      if (op.name == "aten::t") continue;
      EXPECT_TRUE(std::any_of(certainty.modelled_operators.begin(),
                              certainty.modelled_operators.end(),
                              [&](const auto& each) { return each.name.starts_with(op.name); }))
          << op.name;
    }
  }
}

/// Updates were recorded in fp32 and bf16.
TEST(TrainingStep, OfTorchInADTypeThatNobodyRecordedIsModelled) {
  using program::DType;
  for (const auto& [dtype, is_modelled] : {std::pair{DType::kFloat32, false},
                                           {DType::kBFloat16, false},
                                           {DType::kFloat16, true},
                                           {DType::kFloat64, true}}) {
    const program::Program program = cuda(fakes::mlp({64, 64}, 1, dtype));
    const auto modelled = [&](program::OptimizerUse use) {
      return predict_step(program, use, {}, {}).memory.certainty->modelled_calls;
    };
    const std::int64_t without = modelled(program::Optimizer::kAdamW);
    for (const auto form :
         {program::OptimizerForm::kTorchForeach, program::OptimizerForm::kTorchFused}) {
      EXPECT_EQ(modelled({program::Optimizer::kAdamW, form}), without + (is_modelled ? 1 : 0));
    }
  }
}

TEST(TrainingStep, RefusesUpdatesThatTorchRefuses) {
  using program::Optimizer;
  using program::OptimizerForm;
  program::Program program = cuda(fakes::mlp({64, 64}, 1));
  program.parameters.front().tensor.dtype = program::DType::kComplex64;
  for (const program::OptimizerUse use :
       {program::OptimizerUse{Optimizer::kAdafactor, OptimizerForm::kTorchLoop},
        program::OptimizerUse{Optimizer::kAdafactor, OptimizerForm::kTorchForeach},
        program::OptimizerUse{Optimizer::kAdamW, OptimizerForm::kTorchFused},
        program::OptimizerUse{Optimizer::kSgd, OptimizerForm::kTorchFused}}) {
    const ErrorInfo error = tests::error_of([&] { require_possible_update(program, use); });
    EXPECT_EQ(error.code, ErrorCode::kConflictingFlags);
    EXPECT_THAT(error.message, HasSubstr(program.parameters.front().name));
  }
  for (const auto form : {OptimizerForm::kElixir, OptimizerForm::kTorchForeach}) {
    EXPECT_NO_THROW(require_possible_update(program, {Optimizer::kAdamW, form}));
  }
  program.parameters.front().gradient.reset();
  EXPECT_NO_THROW(require_possible_update(program, {Optimizer::kAdamW, OptimizerForm::kTorchFused}))
      << "nothing updates it";
}

/// A net of one convolution, as elixir-profile captures it.
program::Program convolution() {
  fakes::ProgramBuilder builder(program::DType::kFloat32,
                                {.kind = program::Target::Kind::kCuda, .sm = 90});
  const auto x = builder.input("x", {2, 8, 16, 16}, program::DType::kFloat32);
  const auto weight = builder.parameter("weight", {4, 8, 3, 3});
  builder.set_module("stem");
  builder.call("aten::_convolution", {x, weight}, {2, 4, 14, 14});
  const program::Ints one{1, 1};
  const program::Ints zero{0, 0};
  for (const program::Argument& argument : std::vector<program::Argument>{program::None{},
                                                                          one,
                                                                          zero,
                                                                          one,
                                                                          false,
                                                                          zero,
                                                                          std::int64_t{1},
                                                                          false,
                                                                          false,
                                                                          true,
                                                                          true}) {
    builder.last().arguments.push_back(argument);
  }
  return builder.build();
}

TEST(TrainingStep, SaysWhatAnswersOfCudnnAreWorth) {
  program::Program program = convolution();
  const auto queries = operators::unknown_convolutions(program, {});
  ASSERT_EQ(queries.size(), 1U);
  const auto certainty = [&](const operators::WorkspaceTable& table) {
    return *predict_step(program, program::Optimizer::kNone, table, {}).memory.certainty;
  };
  const auto answer = [&](bool measured) {
    program.workspaces = std::make_shared<const program::WorkspaceAnswers>(
        program::WorkspaceAnswers{.source = "cuDNN 9.19.0 on a GPU",
                                  .measured = measured,
                                  .bytes = {{text_of(queries[0]), 4096}}});
  };
  answer(false);
  const program::Certainty asked = certainty({});
  EXPECT_EQ(asked.modelled_calls, 1);
  EXPECT_EQ(asked.may_be_off.allocated_bytes, 7'864'832) << "the largest error, rounded up";
  EXPECT_EQ(asked.may_be_off.reserved_bytes, std::nullopt);
  EXPECT_THAT(asked.reasons,
              ElementsAre(HasSubstr("answered 1 of 1 pass; of its answers for other nets 89 %")));
  answer(true);
  const program::Certainty measured = certainty({});
  EXPECT_EQ(measured.basis(), program::Basis::kMeasured);
  EXPECT_EQ(measured.measured_operators,
            (std::vector<program::LabelledOperator>{{.name = "aten::_convolution",
                                                     .calls = 1,
                                                     .known_bytes = 4096,
                                                     .modules = {{.path = "stem", .calls = 1}}}}));
  EXPECT_EQ(measured.may_be_off.allocated_bytes, 0);
  EXPECT_THAT(measured.reasons,
              ElementsAre("convolutions: cuDNN 9.19.0 on a GPU answered 1 of 1 pass"));
}

/// One pass of a call may be in the table, and the other one answered.
TEST(TrainingStep, AnswersMayStandBesideATable) {
  fakes::ProgramBuilder builder(program::DType::kFloat32,
                                {.kind = program::Target::Kind::kCuda, .sm = 90});
  const auto gradient = builder.input("gradient", {2, 4, 14, 14}, program::DType::kFloat32);
  const auto x = builder.input("x", {2, 8, 16, 16}, program::DType::kFloat32);
  const auto weight = builder.parameter("weight", {4, 8, 3, 3});
  builder.call("aten::convolution_backward", {gradient, x, weight}, {2, 8, 16, 16});
  const program::Ints one{1, 1};
  const program::Ints zero{0, 0};
  for (const program::Argument& argument :
       std::vector<program::Argument>{program::None{},
                                      one,
                                      zero,
                                      one,
                                      false,
                                      zero,
                                      std::int64_t{1},
                                      program::Bools{true, true, false}}) {
    builder.last().arguments.push_back(argument);
  }
  program::Program program = builder.build();
  const auto queries = operators::unknown_convolutions(program, {});
  ASSERT_EQ(queries.size(), 2U);
  program.workspaces = std::make_shared<const program::WorkspaceAnswers>(program::WorkspaceAnswers{
      .source = "cuDNN", .measured = false, .bytes = {{text_of(queries[0]), 4096}}});
  operators::WorkspaceTable table;
  table.queries[text_of(queries[1])] = 512;
  const auto off = [&] {
    return predict_step(program, program::Optimizer::kNone, table, {})
        .memory.certainty->may_be_off.allocated_bytes;
  };
  EXPECT_EQ(off(), 7'864'832);
  table.libraries = "of another version";
  EXPECT_EQ(off(), std::nullopt);
}

TEST(TrainingStep, DoesNotClaimWhatCudnnDidNotAnswer) {
  program::Program program = convolution();
  const auto reasons = [&] {
    return predict_step(program, program::Optimizer::kNone, {}, {}).memory.certainty->reasons;
  };
  EXPECT_THAT(reasons(), ElementsAre(HasSubstr("off by up to 9.6 % allocated")));
  program.operators.push_back(program.operators[0]);
  program.operators[1].id = 1;
  program.operators[1].outputs.clear();
  std::get<program::Ints>(program.operators[1].arguments[5]) = {2, 2};  // another dilation
  const auto queries = operators::unknown_convolutions(program, {});
  ASSERT_EQ(queries.size(), 2U);
  program.workspaces = std::make_shared<const program::WorkspaceAnswers>(program::WorkspaceAnswers{
      .source = "cuDNN", .measured = false, .bytes = {{text_of(queries[0]), 4096}}});
  EXPECT_THAT(reasons(),
              ElementsAre(HasSubstr("answered 1 of 2 passes; the rest are estimates"),
                          HasSubstr("one pass is guessed")));
}

TEST(TrainingStep, NamesBothVersionsWhereATableIsOfOtherLibraries) {
  const program::Program program = convolution();
  operators::WorkspaceTable table;
  table.libraries = "LibTorch 2.10.0, cuDNN 9.10";
  table.queries[text_of(operators::unknown_convolutions(program, {}).at(0))] = 4096;
  const program::Certainty certainty =
      *predict_step(program, program::Optimizer::kNone, table, {}).memory.certainty;
  EXPECT_EQ(certainty.basis(), program::Basis::kModelled);
  EXPECT_THAT(certainty.reasons,
              ElementsAre("the workspaces of one call were recorded with LibTorch 2.10.0, cuDNN "
                          "9.10, and the prediction is for " +
                          std::string(operators::kPredictedLibraries)));
  table.libraries = operators::kPredictedLibraries;
  const program::Certainty same =
      *predict_step(program, program::Optimizer::kNone, table, {}).memory.certainty;
  EXPECT_EQ(same.basis(), program::Basis::kMeasured);
  EXPECT_THAT(same.reasons, IsEmpty());
}

TEST(TrainingStep, ListsTheWorkspacesAtThePeak) {
  const program::Program program = convolution();
  const TrainingStep step = predict_step(program, program::Optimizer::kNone, {}, {});
  ASSERT_EQ(step.memory.workspaces_at_peak.size(), 1U);
  EXPECT_EQ(step.memory.workspaces_at_peak[0].made_at, 0);
  EXPECT_EQ(step.memory.workspaces_at_peak[0].bytes, step.timeline.peak_scratch_bytes);
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
  const std::vector<program::LabelledOperator> expected{
      {.name = "aten::_convolution",
       .calls = 1,
       .known_bytes = 512,
       .modules = {{.path = "", .calls = 1}}},
      {.name = "aten::sort", .calls = 1, .known_bytes = 0, .modules = {{.path = "", .calls = 1}}}};
  EXPECT_EQ(certainty.modelled_operators, expected);
  EXPECT_EQ(certainty.may_be_off, program::MayBeOff()) << "nobody knows";
  EXPECT_THAT(certainty.reasons,
              ElementsAre(HasSubstr("aten::sort: no such call was recorded"),
                          HasSubstr("one pass is guessed; nets whose")));
  EXPECT_EQ(certainty.modelled_bytes_at_peak, 512) << "the convolution makes the peak";
}

TEST(TrainingStep, IsExactWhereEveryCallIs) {
  fakes::ProgramBuilder builder(program::DType::kFloat32,
                                {.kind = program::Target::Kind::kCuda, .sm = 90});
  const auto x = builder.input("x", {8, 8}, program::DType::kFloat32);
  const auto weight = builder.parameter("weight", {8, 8});
  builder.call("aten::relu", {builder.call("aten::mm", {x, weight}, {8, 8})}, {8, 8});
  const TrainingStep step = predict_step(builder.build(), program::Optimizer::kNone, {}, {});
  const program::MayBeOff nothing{.allocated_bytes = 0, .reserved_bytes = 0};
  EXPECT_EQ(step.memory.certainty, (program::Certainty{.exact_calls = 2, .may_be_off = nothing}));
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
  const TrainingStep four = predict_step(program, program::Optimizer::kAdamW, {}, {}, 4);
  EXPECT_EQ(four.nccl_bytes, two.nccl_bytes);
  const TrainingStep five = predict_step(program, program::Optimizer::kAdamW, {}, {}, 5);
  EXPECT_FALSE(five.memory.process_peak_bytes) << "nobody measured";
  EXPECT_FALSE(five.nccl_bytes);
}

}  // namespace
}  // namespace elixir::memory
