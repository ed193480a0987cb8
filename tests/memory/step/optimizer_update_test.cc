// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What GPUs ask for beside the tensors, which the test `torch-optimizer` compares with PyTorch.
#include "memory/step/optimizer_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fakes/program_builder.h"
#include "operators/scratch/reduction_scratch.h"
#include "operators/scratch/script_builder.h"

namespace elixir::memory {
namespace {

using operators::CallScript;
using operators::ScriptStep;
using program::Optimizer;
using program::OptimizerForm;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// One layer, whose weight is larger than what a block of a GPU sums up.
program::Program on(program::Target target) {
  program::Program program = fakes::mlp({512, 1024}, 1, program::DType::kBFloat16);
  program.target = target;
  return program;
}
const program::Target kGpu{.kind = program::Target::Kind::kCuda, .sm = 90};
const program::Target kCpu{.kind = program::Target::Kind::kCpu};

/// Bytes in order, negative where released. Everything must be.
std::vector<std::int64_t> requests_of(const CallScript& script) {
  std::vector<std::int64_t> asked;
  std::vector<std::int64_t> requests;
  for (const ScriptStep& step : script.steps) {
    if (step.kind == ScriptStep::Kind::kTemporary) {
      asked.push_back(step.bytes);
      requests.push_back(step.bytes);
    } else {
      const auto at = static_cast<std::size_t>(step.temporary);
      requests.push_back(-asked.at(at));
      asked.at(at) = 0;
    }
  }
  EXPECT_THAT(asked, Each(0));
  return requests;
}

TEST(OptimizerUpdate, ClippingSumsUpPiecesOnGpus) {
  constexpr std::int64_t kPieces = 512 * 1024 / 65536;  // of the larger gradient, for both
  const program::OptimizerUse clips{Optimizer::kSgd, OptimizerForm::kTorchFused, true};
  const OptimizerUpdate on_gpu = optimizer_update(on(kGpu), clips);
  EXPECT_THAT(requests_of(on_gpu.clipping),
              ElementsAre(2 * kPieces * 4,
                          2,
                          2,
                          -2 * kPieces * 4,
                          4,
                          2,
                          -4,
                          -2,
                          -2,
                          2,
                          2,
                          2,
                          -2,
                          -2,
                          2,
                          -2,
                          -2,
                          -2));
  EXPECT_EQ(on_gpu.clipping.source, operators::ScriptSource::kExact);
  EXPECT_THAT(on_gpu.update.steps, IsEmpty());
  EXPECT_THAT(requests_of(optimizer_update(on(kCpu), clips).clipping),
              ElementsAre(2, 2, 4, 2, -4, -2, -2, 2, 2, 2, -2, -2, 2, -2, -2, -2));
  EXPECT_THAT(
      optimizer_update(on(kGpu), {Optimizer::kSgd, OptimizerForm::kTorchFused}).clipping.steps,
      IsEmpty());
}

TEST(OptimizerUpdate, NormsOfLargeParametersShareBlocksOnGpus) {
  const program::OptimizerUse adafactor{Optimizer::kAdafactor, OptimizerForm::kTorchLoop};
  const program::Program program = on(kGpu);
  const program::TensorRef& parameter = program.parameters.front().tensor;
  const auto kernels =
      operators::reduction_requests(parameter,
                                    {},
                                    operators::reduced_dtypes(parameter.dtype, parameter.dtype),
                                    operators::cuda_traits(program.target))
          .kernels;
  ASSERT_EQ(kernels.size(), 1U);
  const operators::ReductionScratch scratch = kernels.front();
  ASSERT_GT(scratch.buffer_bytes, 0);
  std::vector<std::int64_t> requests = requests_of(optimizer_update(program, adafactor).update);
  ASSERT_GE(requests.size(), 6U);
  requests.resize(6);
  EXPECT_THAT(requests,
              ElementsAre(2,
                          scratch.buffer_bytes,
                          scratch.semaphores_bytes,
                          -scratch.semaphores_bytes,
                          -scratch.buffer_bytes,
                          -2));
  std::vector<std::int64_t> on_cpu = requests_of(optimizer_update(on(kCpu), adafactor).update);
  on_cpu.resize(2);
  EXPECT_THAT(on_cpu, ElementsAre(2, -2));
}

}  // namespace
}  // namespace elixir::memory
