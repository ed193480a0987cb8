// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/sustained_clock.h"

#include <vector>

#include <gtest/gtest.h>

#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "hardware/operator_cost.h"

namespace elixir::hardware {
namespace {

using fakes::figure;

TEST(SustainedClock, NothingSlowsDownWithoutRates) {
  EXPECT_EQ(SustainedClock().slowdown(1), 1);
  EXPECT_EQ(SustainedClock(std::vector<SustainedRate>{}).slowdown(0.5), 1);
}

TEST(SustainedClock, BetweenMeasuredSharesItIsALine) {
  // In any order; other dtypes than bf16 do not count.
  const SustainedClock clock(
      {{"bf16", 1, figure(1.08)}, {"fp32", 0.9, figure(3)}, {"bf16", 0.8, figure(1.02)}});
  EXPECT_DOUBLE_EQ(clock.slowdown(1), 1.08);
  EXPECT_DOUBLE_EQ(clock.slowdown(0.9), 1.05);
  EXPECT_DOUBLE_EQ(clock.slowdown(0.8), 1.02);
  EXPECT_DOUBLE_EQ(clock.slowdown(0.4), 1.01);
  EXPECT_DOUBLE_EQ(clock.slowdown(0), 1);
  EXPECT_DOUBLE_EQ(clock.slowdown(1.2), 1.08);
}

TEST(SustainedClock, NoiseDoesNotSpeedAnythingUp) {
  const SustainedClock clock({{"bf16", 0.5, figure(0.98)}, {"bf16", 1, figure(1.04)}});
  EXPECT_DOUBLE_EQ(clock.slowdown(0.5), 1);
  EXPECT_DOUBLE_EQ(clock.slowdown(0.75), 1.02);
}

TEST(SustainedClock, CallsThatRunAtTheProductsRateAreProducts) {
  fakes::ProgramBuilder builder;
  const fakes::TensorRef a = builder.input("a", {64, 64}, program::DType::kBFloat16);
  // 1e14 FLOP/s: 1 ms. A few bytes take less than that, so the multipliers are busy.
  const fakes::TensorRef product = builder.call("aten::mm", {a, a}, {64, 64}, 100'000'000'000);
  // Its few operations would take a nanosecond, its call a microsecond.
  const fakes::TensorRef small = builder.call("aten::mm", {a, a}, {64, 64}, 100'000);
  builder.set_loss(builder.call("aten::add", {product, small}, {}));
  const program::Program program = builder.build();
  const CostModel gpu(fakes::machine(true)), cpu(fakes::machine(false));
  EXPECT_NEAR(gpu.cost(program.operators[0]).product_ns, 1e6, 1);
  EXPECT_EQ(cpu.cost(program.operators[0]).product_ns, 0);
  EXPECT_EQ(gpu.cost(program.operators[2]).product_ns, 0);
}

}  // namespace
}  // namespace elixir::hardware
