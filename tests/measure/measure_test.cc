// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/measure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "fakes/error_of.h"
#include "hardware/operator_cost.h"
#include "measure/machine/machine.h"
#include "measure/sampling.h"
#include "operators/operator_key.h"

namespace elixir::measure {
namespace {

using tests::error_of;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;

TEST(Sampling, QuantilesInterpolate) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_EQ(quantile({7}, 0.75), 7);
}

TEST(Sampling, FiguresHaveMedianSpreadAndCount) {
  const hardware::Figure figure = summarise({10, 8, 12, 9, 11}, "test");
  EXPECT_EQ(figure.median, 10);
  EXPECT_DOUBLE_EQ(figure.spread, 0.2);
  EXPECT_EQ(figure.samples, 5);
  EXPECT_EQ(rate_figure(6, {2, 3}, "").median, 2.5) << "the median of rates, not of times";
  EXPECT_EQ(time_figure({1e-6}, "").median, 1000);
}

/// Does not watch: what else runs here must not add samples.
class NoWatch final : public CoreWatch {
 public:
  void restart() override {}
  [[nodiscard]] bool was_disturbed() override { return false; }
  [[nodiscard]] double period_s() const override { return 0; }
};

TEST(Sampling, WarmUpDoesNotCountAndTheBudgetEndsIt) {
  int calls = 0;
  const auto once = [&] {
    ++calls;
    return calls <= 2 ? 100.0 : 1.0;
  };
  NoWatch quiet;
  const std::vector<double> seconds = sample({2, 3, 50, 4.5}, once, quiet);
  EXPECT_EQ(seconds.size(), 5U) << "the sample that crosses the budget is the last";
  EXPECT_EQ(*std::max_element(seconds.begin(), seconds.end()), 1.0);
  const auto second = [] { return 1.0; };
  EXPECT_EQ(sample({0, 3, 50, 0.0}, second, quiet).size(), 3U);
  EXPECT_EQ(sample({0, 3, 7, 1e9}, second, quiet).size(), 7U);
}

TEST(Sampling, StopsWhenAskedTo) {
  request_interrupt(2);
  EXPECT_THROW((void)sample({}, [] { return 1.0; }), Interrupted);
  clear_interrupt();
}

TEST(Registry, NamesAreSortedUniqueAndExplained) {
  std::set<std::string> names;
  for (const Measurement& m : measurements()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    EXPECT_FALSE(m.meaning.empty() || m.method.empty()) << m.name;
    EXPECT_GT(m.full_s, m.quick_s) << m.name;
  }
  EXPECT_THAT(names, Contains("host-to-device"));
  EXPECT_THAT(names, Contains("adam-cpu"));
}

TEST(Registry, UnknownNamesGetASuggestion) {
  const ErrorInfo info = error_of([] { check_names({"matmul", "adam-cpv"}); });
  EXPECT_EQ(info.code, ErrorCode::kBadFlagValue);
  EXPECT_THAT(info.help, Contains("did you mean `adam-cpu`?"));
}

TEST(Machine, IsDescribed) {
  const hardware::Machine machine = describe_machine(3);
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.logical_cpus, 1);
  EXPECT_NE(machine.isa, program::CpuIsa::kUnsaid);
  EXPECT_EQ(machine.threads, 3);
  EXPECT_GT(machine.host_memory_bytes, 1 << 28);
}

Request quick(std::vector<std::string> only) {
  Request request;
  request.only = std::move(only);
  request.device = DeviceChoice::kCpu;
  request.effort = Effort::kQuick;
  return request;
}

TEST(Measure, MeasuresWhatIsAskedForAndWaivesTheRest) {
  const hardware::HardwareProfile p = measure(quick({"launch", "adam-gpu"})).profile;
  EXPECT_EQ(p.device_kind, program::DeviceKind::kCpu);
  EXPECT_EQ(p.name, "cpu");
  ASSERT_TRUE(p.launch_ns);
  EXPECT_GT(p.launch_ns->median, 0);
  EXPECT_GE(p.launch_ns->samples, 3);
  EXPECT_FALSE(p.launch_ns->method.empty());
  EXPECT_EQ(p.waived.at("matmul"), "not asked for");
  EXPECT_NE(p.waived.at("adam-gpu"), "not asked for")
      << "impossible here: " << p.waived.at("adam-gpu");
  EXPECT_EQ(p.waived.count("launch"), 0U);
}

TEST(Measure, AddsToAProfileOfThisMachineAndRefusesAnother) {
  Request request = quick({"launch"});
  hardware::HardwareProfile p = measure(request).profile;
  p.name = "mine";
  p.waived["launch"] = "for the test";
  p.adam_cpu = {{"bf16", 1, {1e9, 0, 5, "before"}}};
  request.into = p;
  const hardware::HardwareProfile joined = measure(request).profile;
  EXPECT_EQ(joined.name, "mine");
  EXPECT_EQ(joined.adam_cpu[0].params_per_s.median, 1e9) << "kept";
  EXPECT_EQ(joined.waived.count("launch"), 0U) << "measured now";
  p.machine.cpu = "Another CPU";
  request.into = p;
  const ErrorInfo info = error_of([&] { (void)measure(request); });
  EXPECT_EQ(info.code, ErrorCode::kWrongMachineKind);
  EXPECT_THAT(info.notes, Contains(HasSubstr("Another CPU")));
}

const Registration kHungry({
    "hungry",
    "nothing",
    "asks for more memory than there is",
    0.2,
    0.1,
    never,
    [](const Bench&, hardware::HardwareProfile&) {
      throw Error(ErrorCode::kOutOfMemory, "no 1 TiB left");
    },
});

TEST(Measure, WaivesWhatHasTooLittleMemoryAndGoesOn) {
  const hardware::HardwareProfile p = measure(quick({"hungry", "launch"})).profile;
  EXPECT_EQ(p.waived.at("hungry"), "too little memory: no 1 TiB left");
  EXPECT_TRUE(p.launch_ns);
}

TEST(Measure, KeepsWhatIsFinishedWhenInterrupted) {
  Request request = quick({"launch", "matmul"});
  request.progress = [](double, std::string_view what) {
    if (what == "matmul") request_interrupt(2);
  };
  const Outcome outcome = measure(request);
  clear_interrupt();
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_TRUE(outcome.profile.launch_ns);
  EXPECT_EQ(outcome.profile.waived.at("matmul"), "interrupted");
}

// --- Operators -----------------------------------------------------------------------------------

using program::DType;
using program::Operator;
using program::TensorRef;

/// Builds small programs by hand.
class ProgramMaker {
 public:
  ProgramMaker() { program_.target.kind = program::Target::Kind::kCpu; }
  TensorRef input(std::vector<std::int64_t> sizes, DType dtype) {
    const TensorRef ref = tensor(std::move(sizes), dtype);
    program_.inputs.push_back({"input", ref});
    return ref;
  }
  TensorRef tensor(std::vector<std::int64_t> sizes, DType dtype) {
    TensorRef ref;
    ref.storage = static_cast<program::StorageId>(program_.storages.size());
    ref.sizes = std::move(sizes);
    ref.strides.assign(ref.sizes.size(), 1);
    for (std::size_t i = ref.sizes.size(); i-- > 1;) {
      ref.strides[i - 1] = ref.strides[i] * ref.sizes[i];
    }
    ref.dtype = dtype;
    program::Storage storage;
    storage.id = ref.storage;
    storage.bytes = ref.bytes();
    program_.storages.push_back(storage);
    return ref;
  }
  Operator& call(std::string name, std::string overload) {
    Operator op;
    op.id = static_cast<program::OperatorId>(program_.operators.size());
    op.name = std::move(name);
    op.overload = std::move(overload);
    program_.operators.push_back(op);
    return program_.operators.back();
  }
  program::Program program_;
};

hardware::HardwareProfile measured(const program::Program& program) {
  Request request = quick({});
  request.programs = {&program};
  return measure(request).profile;
}

TEST(Operators, AreMeasuredOncePerDistinctCall) {
  ProgramMaker make;
  const TensorRef a = make.input({64, 32}, DType::kFloat32),
                  b = make.input({32, 16}, DType::kFloat32);
  for (int i = 0; i < 2; ++i) {
    const TensorRef out = make.tensor({64, 16}, DType::kFloat32);
    Operator& mm = make.call("aten::mm", "");
    mm.arguments = {a, b};
    mm.outputs = {out};
  }
  const hardware::HardwareProfile p = measured(make.program_);
  ASSERT_EQ(p.operators.size(), 1U);
  EXPECT_EQ(p.operators[0].key, operators::operator_key(make.program_.operators[0]));
  EXPECT_GT(p.operators[0].time_ns.median, 0);
  EXPECT_EQ(hardware::CostModel(p).cost(make.program_.operators[1]).source,
            hardware::OperatorCost::Source::kMeasured);
}

TEST(Operators, ThatNobodyMeasuredAreInterpolatedBetweenThoseThatWere) {
  // Three sizes are measured in one run. The middle one is removed from the document and then
  // estimated.
  ProgramMaker make;
  for (const std::int64_t n : {2 << 20, 4 << 20, 8 << 20}) {
    // In place, because the allocator's handling of large results is a separate matter.
    const TensorRef values = make.input({n}, DType::kFloat32);
    TensorRef after = values;
    after.version = 1;
    Operator& halve = make.call("aten::mul_", "Scalar");
    halve.arguments = {values, 0.5};
    halve.outputs = {after};
    halve.writes = true;
  }
  const Operator& asked = make.program_.operators[1];
  const std::string key = operators::operator_key(asked);
  Request request = quick({"device-copy", "launch", "matmul"});
  request.into = measure(request).profile;
  request.only = std::vector<std::string>{};
  request.programs = {&make.program_};
  hardware::HardwareProfile p = measure(request).profile;
  ASSERT_EQ(p.operators.size(), 3U);
  const auto middle = std::find_if(
      p.operators.begin(), p.operators.end(), [&](const auto& time) { return time.key == key; });
  ASSERT_NE(middle, p.operators.end());
  EXPECT_EQ(middle->touched_bytes, (4 << 20) * 4);
  EXPECT_EQ(middle->flops, 0);
  p.operators.erase(middle);
  const hardware::OperatorCost cost = hardware::CostModel(p).cost(asked);
  EXPECT_EQ(cost.source, hardware::OperatorCost::Source::kInterpolated);
  // Half way between them on logarithmic axes. How close that is to the truth needs a quiet
  // machine; operator_table_test.cc tests it.
  const double geometric_mean =
      std::sqrt(p.operators[0].time_ns.median * p.operators[1].time_ns.median);
  EXPECT_NEAR(cost.time_ns / geometric_mean, 1, 0.05);
}

TEST(Operators, WorkspaceIsWhatACallAllocatesBesidesItsOutputs) {
  ProgramMaker make;
  TensorRef transposed = make.input({512, 256}, DType::kFloat32);
  transposed.sizes = {256, 512};
  transposed.strides = {1, 256};
  // A softmax of a transposed matrix uses a dense copy.
  const TensorRef out = make.tensor({256, 512}, DType::kFloat32);
  Operator& softmax = make.call("aten::_softmax", "");
  softmax.arguments = {transposed, std::int64_t{1}, false};
  softmax.outputs = {out};
  const TensorRef plain = make.input({256, 512}, DType::kFloat32);
  const TensorRef sum = make.tensor({256, 512}, DType::kFloat32);
  Operator& add = make.call("aten::add", "Tensor");
  add.arguments = {plain, plain, std::int64_t{1}};
  add.outputs = {sum};
  const hardware::HardwareProfile p = measured(make.program_);
  ASSERT_EQ(p.operators.size(), 2U) << (p.waived.empty() ? "" : p.waived.begin()->second);
  EXPECT_EQ(p.operators[0].key.rfind("aten::_softmax", 0), 0U);
  // The copy, and a buffer for the rows of each thread.
  EXPECT_GE(p.operators[0].workspace_bytes, 512 * 256 * 4);
  EXPECT_LT(p.operators[0].workspace_bytes, 512 * 256 * 4 + 1024 * 1024);
  EXPECT_EQ(p.operators[1].workspace_bytes, 0);
}

TEST(Operators, ThatWriteOrIndexGetValidData) {
  ProgramMaker make;
  const TensorRef weight = make.input({100, 8}, DType::kFloat32),
                  rows = make.input({50}, DType::kInt64);
  const TensorRef out = make.tensor({50, 8}, DType::kFloat32);
  Operator& embedding = make.call("aten::embedding", "");
  embedding.arguments = {weight, rows, std::int64_t{-1}, false, false};
  embedding.outputs = {out};
  TensorRef after = weight;
  after.version = 1;
  Operator& halve = make.call("aten::mul_", "Scalar");
  halve.arguments = {weight, 0.5};
  halve.outputs = {after};
  halve.writes = true;
  const hardware::HardwareProfile p = measured(make.program_);
  EXPECT_EQ(p.operators.size(), 2U);
  EXPECT_THAT(p.waived, ::testing::Not(Contains(Key(HasSubstr("operator ")))));
}

TEST(Operators, ThatIndexIntegersGetValidData) {
  ProgramMaker make;
  const TensorRef positions = make.input({1, 6}, DType::kInt64),
                  index = make.input({1, 4}, DType::kInt64);
  Operator& gather = make.call("aten::gather", "");
  gather.arguments = {positions, std::int64_t{1}, index, false};
  gather.outputs = {make.tensor({1, 4}, DType::kInt64)};
  const hardware::HardwareProfile p = measured(make.program_);
  EXPECT_EQ(p.operators.size(), 1U);
  EXPECT_THAT(p.waived, ::testing::Not(Contains(Key(HasSubstr("operator ")))));
}

TEST(Operators, ThatFailAreWaivedWithTheReason) {
  ProgramMaker make;
  const TensorRef a = make.input({4, 3}, DType::kFloat32), b = make.input({4, 3}, DType::kFloat32);
  const TensorRef out = make.tensor({4, 3}, DType::kFloat32);
  Operator& mm = make.call("aten::mm", "");
  mm.arguments = {a, b};
  mm.outputs = {out};
  const hardware::HardwareProfile p = measured(make.program_);
  EXPECT_TRUE(p.operators.empty());
  const std::string key = "operator " + operators::operator_key(make.program_.operators[0]);
  ASSERT_THAT(p.waived, Contains(Key(key)));
  EXPECT_THAT(p.waived.at(key), HasSubstr("mat1 and mat2"));
}

TEST(Operators, OfAnotherTargetAreRefused) {
  ProgramMaker make;
  make.program_.target.kind = program::Target::Kind::kCuda;
  const ErrorInfo info = error_of([&] { (void)measured(make.program_); });
  EXPECT_EQ(info.code, ErrorCode::kProfileTargetMismatch);
  EXPECT_THAT(info.help, Contains(HasSubstr("--target cpu")));
}

}  // namespace
}  // namespace elixir::measure
