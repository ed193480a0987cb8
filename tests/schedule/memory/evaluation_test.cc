// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/memory/evaluation.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "schedule/buffers/buffers.h"
#include "schedule/memory/operator_memory.h"
#include "schedule/memory/run_memory.h"
#include "schedule/plans.h"
#include "schedule/simulate.h"

namespace elixir::schedule {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Ne;
using ::testing::Not;

/// A linear layer with a buffer and a constant, over `rows` rows.
program::Program layer(std::int64_t rows,
                       const std::string& digest,
                       const std::string& buffer = "scale") {
  fakes::ProgramBuilder builder;
  const fakes::TensorRef x = builder.input("x", {rows, 30}, program::DType::kFloat32);
  const fakes::TensorRef w = builder.parameter("w", {30, 20});
  const fakes::TensorRef scale = builder.buffer(buffer, {20});
  const fakes::TensorRef shift = builder.constant({20});
  fakes::TensorRef y = builder.call("aten::mm", {x, w}, {rows, 20});
  y = builder.call("aten::mul", {y, scale}, {rows, 20});
  y = builder.call("aten::add", {y, shift}, {rows, 20});
  const fakes::TensorRef loss = builder.call("aten::neg", {y}, {});
  builder.set_loss(loss);
  builder.start_backward();
  const fakes::TensorRef g = builder.call("aten::neg", {loss}, {rows, 20});
  builder.set_gradient(w, builder.call("aten::mm", {x, g}, {30, 20}));
  program::Program program = builder.build();
  program.storages[shift.storage].content_digest = digest;
  return program;
}

struct EvaluationCase {
  program::Program program;
  program::Lifetimes lifetimes;
  Schedule schedule;
};
EvaluationCase lowered(program::Program program, bool training) {
  EvaluationCase made{std::move(program), {}, {}};
  made.lifetimes = program::analyse_lifetimes(made.program);
  const plan::Plan plan = fakes::lay_out(made.program, {});
  made.schedule = lower(made.program, made.lifetimes, plan, {.training = training});
  return made;
}

std::vector<BufferId> lend(const EvaluationCase& training, const EvaluationCase& evaluation) {
  return lend_buffers(training.schedule, training.program, evaluation.schedule, evaluation.program);
}

TEST(Evaluation, TheSameProgramNeedsNoBufferOfItsOwn) {
  const EvaluationCase training = lowered(layer(10, "d1"), true);
  const EvaluationCase evaluation = lowered(layer(10, "d1"), false);
  const std::vector<BufferId> lent = lend(training, evaluation);
  EXPECT_THAT(lent, Each(Ne(kOwnBuffer)));
  const EvaluationMemory memory =
      evaluation_memory(training.schedule,
                        evaluation.schedule,
                        lent,
                        buffer_bytes(evaluation.schedule.buffers, Arena::kDevice) + 4096);
  EXPECT_EQ(memory.own_device_bytes, 0);
  EXPECT_EQ(memory.own_host_bytes, 0);
  EXPECT_EQ(memory.peak_device_bytes,
            buffer_bytes(training.schedule.buffers, Arena::kDevice) + 4096);
}

TEST(Evaluation, LargerInputsAndOtherConstantsAreCounted) {
  const EvaluationCase training = lowered(layer(10, "d1"), true);
  const EvaluationCase evaluation = lowered(layer(100, "d2"), false);
  const std::vector<BufferId> lent = lend(training, evaluation);
  const EvaluationMemory memory =
      evaluation_memory(training.schedule,
                        evaluation.schedule,
                        lent,
                        buffer_bytes(evaluation.schedule.buffers, Arena::kDevice) + 512);
  EXPECT_EQ(memory.own_device_bytes, 12288 + 512);  // 100 * 30 * 4 rounded up, and the constant
  EXPECT_EQ(memory.peak_device_bytes,
            buffer_bytes(training.schedule.buffers, Arena::kDevice) + 12288 + 512 + 512);
  for (const Buffer& buffer : evaluation.schedule.buffers) {
    const bool own = buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant;
    EXPECT_EQ(lent[buffer.id] == kOwnBuffer, own) << buffer.id;
  }
}

TEST(Evaluation, SmallerInputsUseTheTrainingsBuffer) {
  const EvaluationCase training = lowered(layer(10, "d1"), true);
  const EvaluationCase evaluation = lowered(layer(4, "d1"), false);
  EXPECT_THAT(lend(training, evaluation), Not(Contains(kOwnBuffer)));
}

TEST(Evaluation, AConstantWithoutDigestIsNeverShared) {
  const EvaluationCase training = lowered(layer(10, ""), true);
  const EvaluationCase evaluation = lowered(layer(10, ""), false);
  const std::vector<BufferId> lent = lend(training, evaluation);
  EXPECT_EQ(std::count(lent.begin(), lent.end(), kOwnBuffer), 1);
}

TEST(Evaluation, AModuleBufferThatTrainingLacksIsABug) {
  const EvaluationCase training = lowered(layer(10, "d1"), true);
  const EvaluationCase evaluation = lowered(layer(10, "d1", "other"), false);
  EXPECT_THROW(static_cast<void>(lend(training, evaluation)), Error);
}

RunMemory run_of(const program::Program& program,
                 const program::Program* evaluation,
                 std::int64_t training_peak_bytes,
                 bool cuda = false) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  plan::Plan plan = fakes::lay_out(program, {});
  plan.budgets.gpu_context_bytes = cuda ? 1_GiB : 0;
  return run_memory(plan,
                    program,
                    lower(program, lifetimes, plan, {}),
                    training_peak_bytes,
                    evaluation,
                    hardware::CostModel(fakes::machine(cuda)),
                    Workspaces::kNotCounted);
}

TEST(RunMemory, CountsWhatEvaluationTakesBesideTraining) {
  const program::Program training = layer(10, "d1"), evaluation = layer(100, "d1");
  const std::int64_t buffers =
      buffer_bytes(lowered(layer(10, "d1"), true).schedule.buffers, Arena::kDevice);
  EXPECT_EQ(run_of(training, nullptr, 5000).training_gpu_bytes, 5000);
  EXPECT_EQ(run_of(training, nullptr, 5000).evaluation_gpu_bytes, 0);
  const RunMemory memory = run_of(training, &evaluation, 5000);
  EXPECT_EQ(memory.training_gpu_bytes, 5000 + 12288);
  // Two results of 100 * 20 * 4 bytes at once, rounded up.
  EXPECT_EQ(memory.evaluation_gpu_bytes, buffers + 12288 + 2 * 8192);
}

TEST(RunMemory, OnAGpuItIsWhatTheAllocatorReserves) {
  program::Program training = layer(10, "d1"), evaluation = layer(100, "d1");
  training.target = evaluation.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  const std::int64_t buffers =
      buffer_bytes(lowered(layer(10, "d1"), true).schedule.buffers, Arena::kDevice);
  const RunMemory memory = run_of(training, &evaluation, 5000, /*cuda=*/true);
  const std::int64_t reserved = memory.evaluation_gpu_bytes - 1_GiB - buffers - 12288;
  EXPECT_GT(reserved, 0);
  EXPECT_EQ(reserved % 2_MiB, 0) << "whole segments";
  EXPECT_EQ((memory.training_gpu_bytes - 1_GiB - buffers - 12288) % 2_MiB, 0);
}

}  // namespace
}  // namespace elixir::schedule
