// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Training with a loss scale on a GPU: skipped steps change no bit, wherever updates are made.
// Skipped without a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

#include "core/units.h"
#include "runtime/skipping_run.h"

namespace elixir::runtime {
namespace {

class LossScaleOnGpu : public testing::TestWithParam<std::string> {};

TEST_P(LossScaleOnGpu, SkippedStepsChangeNoBitUnderAnyPlacement) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) GTEST_SKIP() << "no GPU";
  const program::Target target{program::Target::Kind::kCuda,
                               properties.major * 10 + properties.minor};
  const TestModel plain(model_path(GetParam()), 512, target);
  TestModel scaled = plain;
  scaled.scale_loss();
  TrainingRun run;
  run.optimizer.clip_norm = 0.5;
  const auto with = [&](const TestModel& model, Placement placement) {
    placement.clips = true;
    SkippingRun skipping{model, model.plan(placement), options_with(run)};
    skipping.plan.budgets.gpu_memory_bytes = 8_GiB;  // the prediction lacks kernels' workspaces
    skipping.options.device = DeviceKind::kCuda;
    skipping.options.deterministic = true;
    skipping.options.loss_scale = kSkips;
    return skipping;
  };
  for (Placement placement :
       {kAllOnDevice, kAllOnHost, kStreamedUpdates, kLateMoments, kMomentsTogether}) {
    for (const int micro_batches : {1, 2}) {
      if (placement.late_moments && micro_batches > 1) continue;
      placement.accumulation_steps = micro_batches;
      SCOPED_TRACE(testing::Message() << placement.streams_updates << placement.late_moments
                                      << placement.kept_gradients << micro_batches);
      expect_same(with(scaled, placement).with_scale(), with(plain, placement).without_scale());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models,
                         LossScaleOnGpu,
                         testing::Values("gpt2-tiny", "gpt2-tiny-bf16"),
                         [](const auto& info) {
                           return info.param == "gpt2-tiny" ? "fp32" : "bf16";
                         });

}  // namespace
}  // namespace elixir::runtime
