// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/operator_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hardware/operator_cost.h"
#include "operators/operator_key.h"

namespace elixir::hardware {
namespace {

using program::DType;
using program::Operator;
using program::TensorRef;

TEST(OperatorKind, DropsSizesAndKeepsTheRest) {
  EXPECT_EQ(operator_kind("aten::mm(bfloat16[64,32]/[32,1],bfloat16[32,16]/[1,32])"),
            "aten::mm(bfloat16/01,bfloat16/10)");
  EXPECT_EQ(operator_kind("aten::mm(bfloat16[24,8]/[8,1],bfloat16[8,40]/[1,8])"),
            operator_kind("aten::mm(bfloat16[64,32]/[32,1],bfloat16[32,16]/[1,32])"));
  EXPECT_EQ(operator_kind("aten::mm(bfloat16[8,4]/[4,1],float32[4,4]/[1,4])"),
            "aten::mm(bfloat16/01~,float32/10)")
      << "rows of 8 bytes, and of 16";
  EXPECT_EQ(operator_kind("aten::mm(bfloat16[8,8]/[8,1],bfloat16[8,50257]/[1,8])"),
            "aten::mm(bfloat16/01,bfloat16/10~)")
      << "the product's rows";
  EXPECT_EQ(operator_kind("aten::add.Tensor(float32[8,4]/[4,1],float32[8,4]/[0,1],1)"),
            "aten::add.Tensor(float32/01,float32/1e,#)");
  EXPECT_EQ(operator_kind("aten::x(-,true,-1,1.5f,\"mean\",(1,2),cpu,{-;int64[3]/[1]})"),
            "aten::x(-,true,#,#,\"mean\",#,cpu,{-;int64/0})");
  EXPECT_EQ(operator_kind("aten::x(float32[]/[])"), "aten::x(float32/)");
  EXPECT_EQ(operator_kind(""), "");
  EXPECT_EQ(operator_kind("aten::broken(float32[3"), "aten::broken(float32");
}

OperatorTime timed(const std::string& key, double ns, std::int64_t bytes, std::int64_t flops) {
  OperatorTime time;
  time.key = key;
  time.time_ns = {ns, 0, 1, "test"};
  time.touched_bytes = bytes;
  time.flops = flops;
  return time;
}

std::string relu(std::int64_t n) {
  return fmt::format("aten::relu(float32[{}]/[1])", n);
}

double linear(const OperatorWork& work) {
  return 1e-3 * static_cast<double>(work.touched_bytes);
}

TEST(OperatorTable, InterpolatesTheCorrectionBetweenNeighbours) {
  OperatorTable table;
  table.add(timed(relu(1000), 2.0 * 8, 8000, 0));    // twice the prior
  table.add(timed(relu(4000), 8.0 * 32, 32000, 0));  // eight times
  const auto middle = table.estimate(relu(2000), {16000, 0}, linear);
  EXPECT_TRUE(middle.interpolated);
  EXPECT_NEAR(middle.time_ns, 4.0 * 16, 1e-9) << "half way on both logarithmic axes";
  const auto at = table.estimate(relu(4000), {32000, 0}, linear);
  EXPECT_NEAR(at.time_ns, 8.0 * 32, 1e-9) << "a measured call gives itself";
}

TEST(OperatorTable, BeyondItsNeighboursSaysItIsARoofline) {
  OperatorTable table;
  table.add(timed(relu(1000), 2.0 * 8, 8000, 0));
  const auto near = table.estimate(relu(4000), {32000, 0}, linear);
  EXPECT_FALSE(near.interpolated);
  EXPECT_NEAR(near.time_ns, 2.0 * 32, 1e-9) << "corrected by the nearest";
  const auto far = table.estimate(relu(1000000), {8000000, 0}, linear);
  EXPECT_NEAR(far.time_ns, 8000, 1e-9) << "too far for its correction to say anything";
  const auto other = table.estimate("aten::exp(float32[4000]/[1])", {32000, 0}, linear);
  EXPECT_FALSE(other.interpolated);
  EXPECT_NEAR(other.time_ns, 32, 1e-9);
}

TEST(OperatorTable, NeedsTheWorkOfACallToLearnFromIt) {
  OperatorTable table;
  OperatorTime old;
  old.key = relu(1000);
  old.time_ns = {16, 0, 1, "test"};
  table.add(old);
  EXPECT_NEAR(table.estimate(relu(1000), {8000, 0}, linear).time_ns, 8, 1e-9);
}

TEST(OperatorTable, FitsTheRooflineToTheMeasuredCalls) {
  OperatorTable table;
  for (std::int64_t n = 1000; n <= 1'000'000'000; n *= 10) {
    for (const char* name : {"relu", "gelu"}) {
      const std::int64_t bytes = 8 * n;
      // A start of 2 us and 80 % of the prior's rate.
      table.add(timed(fmt::format("aten::{}(float32[{}]/[1])", name, n),
                      2000 + 1e-3 * static_cast<double>(bytes) / 0.8,
                      bytes,
                      0));
    }
  }
  table.fit(linear);
  const auto small = table.estimate("aten::exp(float32[10]/[1])", {80, 0}, linear);
  EXPECT_NEAR(small.time_ns, 2000.1, 1);
  const auto large = table.estimate("aten::exp(float32[100000000]/[1])", {800'000'000, 0}, linear);
  EXPECT_NEAR(large.time_ns, 2000 + 1e6, 1e3);
  EXPECT_FALSE(large.interpolated);
}

// --- An independent machine ----------------------------------------------------------------------

/// The time of a call on an imaginary GPU that is not a roofline: kernels need 2 us to start,
/// matrix products run in waves of 132 tiles of 128 x 128, every operator has its own efficiency,
/// and what fits into 50 MB of cache is faster. Shares no code with the model.
double made_up_ns(const Operator& op, double efficiency) {
  const auto& a = std::get<TensorRef>(op.arguments[0]);
  if (op.name == "aten::mm") {
    const auto& b = std::get<TensorRef>(op.arguments[1]);
    const double tiles = std::ceil(static_cast<double>(a.sizes[0]) / 128) *
                         std::ceil(static_cast<double>(b.sizes[1]) / 128);
    const double waves = std::ceil(tiles / 132);
    return 2000 + waves * 2 * 128 * 128 * static_cast<double>(a.sizes[1]) * 132 / 8e5 / efficiency;
  }
  const double bytes = static_cast<double>(operator_bytes(op));
  const double rate = bytes < 50e6 ? 6000 : 4000;  // bytes per ns
  return 2000 + bytes / rate / efficiency;
}

TensorRef dense(program::StorageId storage, std::vector<std::int64_t> sizes) {
  TensorRef ref;
  ref.storage = storage;
  ref.sizes = std::move(sizes);
  ref.strides.assign(ref.sizes.size(), 1);
  for (std::size_t i = ref.sizes.size(); i-- > 1;) {
    ref.strides[i - 1] = ref.strides[i] * ref.sizes[i];
  }
  ref.dtype = DType::kBFloat16;
  return ref;
}

struct Call {
  Operator op;
  double efficiency;
};

/// A block of a transformer of width 1024 for `rows` = batch * 1024.
std::vector<Call> transformer_calls(std::int64_t rows) {
  std::vector<Call> calls;
  const auto product = [&](std::int64_t in, std::int64_t out, double efficiency) {
    Operator op;
    op.name = "aten::mm";
    op.arguments = {dense(0, {rows, in}), dense(1, {in, out})};
    op.outputs = {dense(2, {rows, out})};
    op.flops = 2 * rows * in * out;
    calls.push_back({op, efficiency});
  };
  product(1024, 3072, 0.9);
  product(1024, 1024, 0.85);
  product(1024, 4096, 0.9);
  product(4096, 1024, 0.88);
  const auto pointwise = [&](const char* name, std::int64_t width, double efficiency) {
    Operator op;
    op.name = name;
    op.arguments = {dense(0, {rows, width})};
    op.outputs = {dense(1, {rows, width})};
    calls.push_back({op, efficiency});
  };
  pointwise("aten::gelu", 4096, 0.9);
  pointwise("aten::native_layer_norm", 1024, 0.6);
  pointwise("aten::_softmax", 1024, 0.5);
  pointwise("aten::relu", 1024, 0.8);
  return calls;
}

HardwareProfile made_up_machine(const std::vector<std::int64_t>& batches) {
  HardwareProfile p;
  p.name = "made up";
  p.device_kind = program::DeviceKind::kCuda;
  p.compute = {{"bf16", {8e14, 0, 1, "test"}}};
  p.device_copy_bytes_per_s = Figure{4e12, 0, 1, "test"};
  p.launch_ns = Figure{3000, 0, 1, "test"};
  for (const std::int64_t batch : batches) {
    for (const Call& call : transformer_calls(batch * 1024)) {
      p.operators.push_back(timed(operators::operator_key(call.op),
                                  made_up_ns(call.op, call.efficiency),
                                  operator_bytes(call.op),
                                  call.op.flops));
    }
  }
  return p;
}

TEST(CostModel, PredictsUnseenBatchesOfAMadeUpGpu) {
  // Small products take few waves of tiles. One more wave costs what no line can predict: up to 13
  // % at batch 3.
  const CostModel model(made_up_machine({2, 4, 8, 16, 32}));
  for (const std::int64_t batch : {3, 5, 6, 7, 12, 24}) {
    double truth = 0, predicted = 0, worst = 0;
    for (const Call& call : transformer_calls(batch * 1024)) {
      const double real = std::max(made_up_ns(call.op, call.efficiency), 3000.0);
      const OperatorCost cost = model.cost(call.op);
      EXPECT_EQ(cost.source, OperatorCost::Source::kInterpolated) << call.op.name;
      truth += real;
      predicted += cost.time_ns;
      worst = std::max(worst, std::abs(cost.time_ns / real - 1));
    }
    EXPECT_NEAR(predicted / truth, 1, batch == 3 ? 0.14 : 0.10) << "batch " << batch;
    EXPECT_LT(worst, 0.35) << "batch " << batch << ": waves and caches are no line";
  }
}

TEST(CostModel, ExtrapolatesFromMeasuredCallsBetterThanFromTheRoofline) {
  const CostModel informed(made_up_machine({4, 8})), plain(made_up_machine({}));
  double truth = 0, by_calls = 0, by_roofline = 0;
  for (const Call& call : transformer_calls(std::int64_t{32} * 1024)) {
    const OperatorCost cost = informed.cost(call.op);
    EXPECT_EQ(cost.source, OperatorCost::Source::kRoofline) << "and says so";
    truth += made_up_ns(call.op, call.efficiency);
    by_calls += cost.time_ns;
    by_roofline += plain.cost(call.op).time_ns;
  }
  EXPECT_LT(std::abs(by_calls / truth - 1), std::abs(by_roofline / truth - 1));
  EXPECT_NEAR(by_calls / truth, 1, 0.10);
}

TEST(CostModel, KeepsTheMeasuredTimeOfAMeasuredCall) {
  const CostModel model(made_up_machine({2, 8, 32}));
  for (const Call& call : transformer_calls(std::int64_t{8} * 1024)) {
    const OperatorCost cost = model.cost(call.op);
    EXPECT_EQ(cost.source, OperatorCost::Source::kMeasured);
    EXPECT_DOUBLE_EQ(cost.time_ns, std::max(made_up_ns(call.op, call.efficiency), 3000.0));
  }
}

}  // namespace
}  // namespace elixir::hardware
