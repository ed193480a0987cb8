// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/operator_cost.h"
#include "fakes/hardware.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "operators/operator_key.h"

namespace elixir::hardware {
namespace {

using fakes::figure;

using operators::operator_key;

using program::DType;
using program::Operator;
using program::TensorRef;

TensorRef tensor(program::StorageId storage, std::vector<std::int64_t> sizes, DType dtype) {
  TensorRef ref;
  ref.storage = storage;
  ref.sizes = std::move(sizes);
  ref.strides.assign(ref.sizes.size(), 1);
  for (std::size_t i = ref.sizes.size(); i-- > 1;) {
    ref.strides[i - 1] = ref.strides[i] * ref.sizes[i];
  }
  ref.dtype = dtype;
  return ref;
}

Operator matrix_product(DType dtype) {
  Operator op;
  op.name = "aten::mm";
  op.arguments = {tensor(0, {64, 32}, dtype), tensor(1, {32, 16}, dtype)};
  op.outputs = {tensor(2, {64, 16}, dtype)};
  op.flops = 2LL * 64 * 32 * 16;
  return op;
}

HardwareProfile cpu_profile() {
  HardwareProfile p;
  p.name = "test";
  p.device_kind = program::DeviceKind::kCpu;
  p.machine.threads = 2;
  p.links.host_to_device = {{1, figure(1e10), figure(100)}};
  p.links.device_to_host = {{1, figure(5e9), figure(200)}};
  p.adam_cpu = {{"bf16", 1, figure(2e9)}, {"fp32", 1, figure(1e9)}, {"fp32", 2, figure(9e9)}};
  p.compute = {{"fp32", figure(1e9)}, {"bf16", figure(1e8)}};
  p.device_copy_bytes_per_s = figure(2e10);
  p.launch_ns = figure(1000);
  return p;
}

TEST(OperatorKey, NamesGeometryAndValuesButNoStorage) {
  Operator op = matrix_product(DType::kBFloat16);
  EXPECT_EQ(operator_key(op), "aten::mm(bfloat16[64,32]/[32,1],bfloat16[32,16]/[16,1])");
  Operator moved = op;
  std::get<TensorRef>(moved.arguments[0]).storage = 77;
  std::get<TensorRef>(moved.arguments[0]).version = 3;
  std::get<TensorRef>(moved.arguments[0]).offset = 64;
  EXPECT_EQ(operator_key(moved), operator_key(op));
  Operator transposed = op;
  std::get<TensorRef>(transposed.arguments[0]).strides = {1, 64};
  EXPECT_NE(operator_key(transposed), operator_key(op));
  Operator overload = op;
  overload.overload = "out";
  EXPECT_NE(operator_key(overload), operator_key(op));
}

TEST(OperatorKey, TellsEveryKindOfArgumentApart) {
  Operator op;
  op.name = "aten::x";
  op.arguments = {program::None{},
                  true,
                  std::int64_t{1},
                  1.0,
                  std::complex<double>(1, 2),
                  std::string("mean"),
                  program::Ints{1, 2},
                  program::Doubles{1, 2},
                  program::Bools{true, false},
                  program::DeviceName{"cpu"},
                  program::Tensors{std::nullopt, tensor(0, {3}, DType::kInt64)}};
  EXPECT_EQ(operator_key(op),
            "aten::x(-,true,1,1f,1+2i,\"mean\",(1,2),f(1,2),b(10),cpu,{-;int64[3]/[1]})");
}

TEST(OperatorBytes, CountsArgumentsAndFreshOutputsOnce) {
  Operator op = matrix_product(DType::kFloat32);
  EXPECT_EQ(operator_bytes(op), 4 * (64 * 32 + 32 * 16 + 64 * 16));
  // The same tensor twice, written in place: once. An expanded dimension has no memory of its own.
  Operator add;
  add.name = "aten::add_";
  TensorRef expanded = tensor(1, {8, 16}, DType::kFloat32);
  expanded.strides = {0, 1};
  add.arguments = {tensor(0, {8, 16}, DType::kFloat32),
                   tensor(0, {8, 16}, DType::kFloat32),
                   expanded,
                   std::int64_t{1}};
  add.outputs = {tensor(0, {8, 16}, DType::kFloat32)};
  EXPECT_EQ(operator_bytes(add), 4 * (8 * 16 + 16));
}

TEST(CostModel, PrefersAMeasuredCallToTheRoofline) {
  HardwareProfile p = cpu_profile();
  const Operator op = matrix_product(DType::kFloat32);
  p.operators = {{operator_key(op), figure(12345), 4096}};
  const CostModel cost(p);
  EXPECT_EQ(cost.cost(op).source, OperatorCost::Source::kMeasured);
  EXPECT_EQ(cost.cost(op).time_ns, 12345);
  EXPECT_EQ(cost.cost(op).workspace_bytes, 4096);
  EXPECT_EQ(cost.cost(matrix_product(DType::kBFloat16)).source, OperatorCost::Source::kRoofline);
}

TEST(CostModel, RooflineIsTheSlowerOfArithmeticAndMemoryPlusLaunch) {
  const CostModel cost(cpu_profile());
  const Operator op = matrix_product(DType::kFloat32);
  EXPECT_DOUBLE_EQ(cost.cost(op).time_ns, static_cast<double>(op.flops) + 1000);
  EXPECT_DOUBLE_EQ(cost.cost(matrix_product(DType::kBFloat16)).time_ns,
                   static_cast<double>(op.flops) * 10 + 1000);
  Operator memory_bound = op;
  memory_bound.flops = 0;
  EXPECT_DOUBLE_EQ(cost.cost(memory_bound).time_ns,
                   static_cast<double>(operator_bytes(op)) / 2e10 * 1e9 + 1000);
}

TEST(CostModel, OnAGpuNoCallTakesLessThanItsLaunch) {
  HardwareProfile p = cpu_profile();
  p.device_kind = program::DeviceKind::kCuda;
  const Operator op = matrix_product(DType::kFloat32);
  p.operators = {{operator_key(op), figure(7), 0}};
  EXPECT_EQ(CostModel(p).cost(op).time_ns, 1000);
  EXPECT_EQ(CostModel(p).cost(op).kernel_ns, 7);
  EXPECT_DOUBLE_EQ(CostModel(p).cost(matrix_product(DType::kBFloat16)).time_ns,
                   static_cast<double>(op.flops) * 10);
  p.operators[0].host_ns = figure(3000);
  EXPECT_EQ(CostModel(p).cost(op).time_ns, 3000) << "what its host needs, where that was measured";
  EXPECT_EQ(CostModel(p).cost(op).kernel_ns, 7);
}

TEST(CostModel, CopiesWithItsTable) {
  HardwareProfile p = cpu_profile();
  const Operator op = matrix_product(DType::kFloat32);
  p.operators = {{operator_key(op), figure(7), 0}};
  CostModel copy(cpu_profile());
  {
    const CostModel first(p);
    copy = first;
  }
  EXPECT_EQ(copy.cost(op).time_ns, 7);
}

TEST(CostModel, TimesCopiesAndUpdates) {
  const CostModel cost(cpu_profile());
  EXPECT_DOUBLE_EQ(cost.host_to_device_ns(1000), 100 + 100);
  EXPECT_DOUBLE_EQ(cost.device_to_host_ns(1000), 200 + 200);
  EXPECT_EQ(cost.host_to_device_ns(0), 0);
  EXPECT_DOUBLE_EQ(cost.device_copy_ns(1000), 1000 + 100);
  EXPECT_DOUBLE_EQ(cost.adam_cpu_ns(1000, {.gradient = DType::kBFloat16}), 500);
  EXPECT_DOUBLE_EQ(cost.adam_cpu_ns(1000, {}), 1000) << "the rate of one rank";
  EXPECT_DOUBLE_EQ(cost.adam_gpu_ns(1000, {}), 1000) << "the same cores";
  EXPECT_TRUE(cost.streams_serialize());
}

TEST(CostModel, AnotherFormOfAdamMovesItsBytesAtThePlainFormsRateUnlessItWasMeasured) {
  constexpr AdamForm kSplit{.gradient = DType::kBFloat16, .split = true};
  constexpr AdamForm kSplitNarrow{
      .gradient = DType::kBFloat16, .split = true, .moments = DType::kBFloat16};
  HardwareProfile profile = cpu_profile();
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1400, kSplit), 700 * 26.0 / 28);
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1400, kSplitNarrow), 700 * 18.0 / 28);
  // The larger pass counts; a smaller one may fit a cache.
  profile.adam_forms = {{"cpu", "bf16", "fp32", "split", 500, figure(4e9)},
                        {"cpu", "bf16", "fp32", "split", 1000, figure(2.5e9)},
                        {"gpu", "bf16", "fp32", "split", 2000, figure(7e9)},
                        {"cpu", "bf16", "fp32", "separate", 3000, figure(9e9)}};
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1000, kSplit), 400);
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1000, {.gradient = DType::kBFloat16}), 500)
      << "the plain form is among the rates of ranks";
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1400, kSplitNarrow), 700 * 18.0 / 28);
}

TEST(CostModel, APartOfAdamMovesItsBytesAtTheRateOfTheWholeUnlessItWasMeasured) {
  constexpr AdamForm kParameters{.gradient = DType::kBFloat16, .writes = AdamWrites::kParameters};
  constexpr AdamForm kMoments{.gradient = DType::kBFloat16, .writes = AdamWrites::kMoments};
  constexpr AdamForm kNarrowMoments{
      .gradient = DType::kBFloat16, .moments = DType::kBFloat16, .writes = AdamWrites::kMoments};
  HardwareProfile profile = cpu_profile();
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1400, kParameters), 700 * 20.0 / 28);
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1400, kMoments), 700 * 18.0 / 28);
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1400, kNarrowMoments), 700 * 10.0 / 28);
  profile.adam_forms = {
      {"cpu", "bf16", "fp32", "separate", 3000, figure(2.5e9), AdamWrites::kParameters},
      {"cpu", "bf16", "fp32", "separate", 3000, figure(4e9), AdamWrites::kMoments},
      {"cpu", "bf16", "bf16", "separate", 3000, figure(20 * 1e9)}};
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1000, kParameters), 400);
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1000, kMoments), 250);
  AdamForm split_moments = kMoments;
  split_moments.split = true;
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1000, split_moments), 250)
      << "no form of the master matters to moments";
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(1000, {.gradient = DType::kBFloat16}), 500)
      << "the whole stays as measured";
  EXPECT_DOUBLE_EQ(CostModel(profile).adam_cpu_ns(2000, kNarrowMoments), 100 * 10.0 / 20)
      << "of a form whose whole was measured";
}

/// What one pass loses when several ranks share the memory need not be what another one does.
TEST(CostModel, AFormOfAsManyRanksCountsWhereItWasMeasured) {
  constexpr AdamForm kSplit{.gradient = DType::kBFloat16, .split = true};
  constexpr AdamForm kParameters{
      .gradient = DType::kBFloat16, .split = true, .writes = AdamWrites::kParameters};
  HardwareProfile profile = cpu_profile();
  profile.device_kind = program::DeviceKind::kCuda;
  profile.gpus = {{"a", 90, 1, 1}, {"b", 90, 1, 1}};
  profile.adam_cpu = {{"bf16", 1, figure(2e9)}, {"bf16", 2, figure(3e9)}};
  profile.adam_forms = {
      {"cpu", "bf16", "fp32", "split", 3000, figure(4e9)},
      {"cpu", "bf16", "fp32", "split", 3000, figure(5e9), AdamWrites::kParameters},
      {"cpu", "bf16", "fp32", "split", 3000, figure(4e9), AdamWrites::kParameters, 2},
      {"cpu", "bf16", "fp32", "split", 3000, figure(9e9), AdamWrites::kParameters, 8}};
  const CostModel one(profile);
  EXPECT_DOUBLE_EQ(one.adam_cpu_ns(1000, kSplit), 250);
  EXPECT_DOUBLE_EQ(one.adam_cpu_ns(1000, kParameters), 200);
  // Each of two ranks has half of what both have.
  const CostModel two(profile, {.world = 2, .per_node = 2});
  EXPECT_DOUBLE_EQ(two.adam_cpu_ns(1000, {.gradient = DType::kBFloat16}), 1000 / 1.5);
  EXPECT_DOUBLE_EQ(two.adam_cpu_ns(1000, kSplit), 1000 / (4 * 1.5 / 2));
  EXPECT_DOUBLE_EQ(two.adam_cpu_ns(1000, kParameters), 1000 / 2.0);
}

TEST(CostModel, NamesAMissingMeasurement) {
  const CostModel cost(cpu_profile());
  try {
    (void)cost.host_copy_ns(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kJsonMissingKey);
    EXPECT_NE(error.info().message.find("host-copy"), std::string::npos);
  }
}

TEST(WorkspaceBound, IsZeroWhereNothingIsNeededAndGenerousElsewhere) {
  Operator add;
  add.name = "aten::add";
  add.arguments = {tensor(0, {1000}, DType::kBFloat16), tensor(1, {1000}, DType::kBFloat16)};
  add.outputs = {tensor(2, {1000}, DType::kBFloat16)};
  EXPECT_EQ(workspace_bound(add, false, 2), 0);
  add.arguments[1] = tensor(1, {1000}, DType::kFloat32);  // the kernel converts through a copy
  EXPECT_GT(workspace_bound(add, false, 2), 3 * 4000);
  const Operator product = matrix_product(DType::kBFloat16);
  EXPECT_EQ(workspace_bound(product, true, 2), 0);
  EXPECT_GT(workspace_bound(product, false, 4), workspace_bound(product, false, 2));
}

}  // namespace
}  // namespace elixir::hardware
