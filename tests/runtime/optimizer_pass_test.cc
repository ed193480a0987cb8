// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What the optimizer's passes detect while they run (gradients, norms and updates that are not
// finite), and moments that are made late.
#include "runtime/step/optimizer_pass.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace elixir::runtime {
namespace {

constexpr std::int64_t kElements = 5;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Two fp32 parameters, each in its own chunk.
class OptimizerPassTest : public testing::Test {
 protected:
  struct Arrays {
    std::vector<float> master = std::vector<float>(kElements, 1.0F);
    std::vector<float> moment1 = std::vector<float>(kElements);
    std::vector<float> moment2 = std::vector<float>(kElements);
    std::vector<float> gradient = std::vector<float>(kElements, 0.5F);
  };

  /// One step over both chunks, as in the executor.
  OptimizerPass step(double learning_rate, bool clips) {
    program::Program program;
    program.parameters.resize(2);
    plan::Plan plan;
    plan.chunks.resize(2);
    std::vector<ParameterLayout> layouts(2);
    for (std::int32_t c = 0; c < 2; ++c) {
      plan.chunks[c].bytes = kElements * static_cast<std::int64_t>(sizeof(float));
      plan.chunks[c].late_moments = late_;
      layouts[c].chunk = c;
      layouts[c].elements = kElements;
      layouts[c].trained = true;
    }
    OptimizerOptions options;
    options.clip_norm = clips ? 1.0 : 0.0;
    OptimizerPass pass(program, plan, options, layouts, /*rank=*/0);
    device_sums_.resize(pass.sums() + sizeof(kernels::Clip) / sizeof(float));
    pass.set_memory({.device_sums = device_sums_.data(),
                     .rank_sums = device_sums_.data(),
                     .host_sums = nullptr,  // of several micro-batches
                     .host_clips = host_clips_.data(),
                     .marks = marks_.data()});
    pass.begin_step({.learning_rate = learning_rate});
    const auto operations = make_host_operations({});
    for (std::int32_t c = 0; clips && c < 2; ++c) {
      operations->sum_squares(
          arrays_[c].gradient.data(), kernels::Element::kFloat32, kElements, pass.sums_of(c));
    }
    if (clips) pass.clip(*operations);
    for (std::int32_t c = 0; c < 2; ++c) {
      pass.update(c, chunk(c), c == 0 ? plan::Home::kDevice : plan::Home::kHost, *operations);
    }
    return pass;
  }
  OptimizerPass::Chunk chunk(std::int32_t index) {
    Arrays& a = arrays_[index];
    return {.master = a.master.data(),
            .splits = false,
            .moment1 = a.moment1.data(),
            .moment2 = a.moment2.data(),
            .moment_type = program::DType::kFloat32,
            .gradients = a.gradient.data(),
            .gradient_type = program::DType::kFloat32,
            .parameters = a.master.data(),
            .parameter_type = program::DType::kFloat32};
  }

  bool late_ = false;  ///< moments

  std::vector<float> device_sums_;
  std::array<kernels::Clip, OptimizerPass::kHostClips> host_clips_{};
  std::vector<std::uint32_t> marks_ = {7, 7};  // left from an earlier step
  std::array<Arrays, 2> arrays_;
};

TEST_F(OptimizerPassTest, AnOrdinaryStepIsFinite) {
  for (const bool clips : {false, true}) {
    const OptimizerPass pass = step(1e-3, clips);
    EXPECT_TRUE(pass.finite());
    EXPECT_FALSE(pass.suspects(0));
    EXPECT_FALSE(pass.suspects(1));
    EXPECT_LT(arrays_[0].master[0], 1.0F);
  }
}

TEST_F(OptimizerPassTest, LateMomentsAreMadeWithTheScalarsOfTheirStepWhenTheNextOneHasBegun) {
  const std::array<Arrays, 2> fresh = arrays_;
  static_cast<void>(step(1e-3, /*clips=*/true));
  const Arrays whole = std::exchange(arrays_, fresh)[1];
  late_ = true;
  OptimizerPass pass = step(1e-3, /*clips=*/true);
  EXPECT_TRUE(pass.owes_moments());
  EXPECT_EQ(arrays_[1].master, whole.master);
  EXPECT_EQ(arrays_[1].moment1, fresh[1].moment1);
  pass.begin_step({.number = 2, .update = 2, .learning_rate = 0.5, .micro_batches = 4});
  const auto operations = make_host_operations({});
  for (const std::int32_t c : {0, 1}) {
    pass.make_moments(c, chunk(c), OptimizerPass::Due::kInTurn, *operations);
  }
  EXPECT_EQ(arrays_[1].master, whole.master);
  EXPECT_EQ(arrays_[1].moment1, whole.moment1);
  EXPECT_EQ(arrays_[1].moment2, whole.moment2);
  EXPECT_FALSE(pass.owes_moments());
}

TEST_F(OptimizerPassTest, WithoutANormTheChunkOfABadGradientIsMarked) {
  arrays_[1].gradient[4] = kInfinity;
  const OptimizerPass pass = step(1e-3, /*clips=*/false);
  EXPECT_FALSE(pass.finite());
  EXPECT_FALSE(pass.suspects(0));
  EXPECT_TRUE(pass.suspects(1));
  EXPECT_FALSE(pass.norm_overflowed());
}

TEST_F(OptimizerPassTest, AnUpdateThatIsNotFiniteMarksItsChunk) {
  for (const bool clips : {false, true}) {
    const OptimizerPass pass = step(1e38, clips);
    EXPECT_FALSE(pass.finite());
    EXPECT_TRUE(pass.suspects(0));
  }
}

TEST_F(OptimizerPassTest, ANormThatIsNotFiniteHoldsEveryUpdateBack) {
  for (const float bad : {kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
    arrays_[1].gradient[0] = bad;
    const OptimizerPass pass = step(1e-3, /*clips=*/true);
    EXPECT_FALSE(pass.finite());
    EXPECT_TRUE(pass.norm_overflowed());
    for (const Arrays& a : arrays_) {
      for (const float value : a.master) EXPECT_EQ(value, 1.0F);
      for (const float value : a.moment2) EXPECT_EQ(value, 0.0F);
    }
  }
}

}  // namespace
}  // namespace elixir::runtime
