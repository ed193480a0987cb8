// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/core_watch.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/operators/product_check.h"
#include "measure/sample_log.h"
#include "measure/sampling.h"

namespace elixir::measure {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns the readings of a list, one after another, then "undisturbed".
class ToldWatch : public CoreWatch {
 public:
  explicit ToldWatch(std::vector<bool> readings, double period_s = 0)
      : readings_(std::move(readings)), period_s_(period_s) {}
  void restart() override {}
  bool was_disturbed() override { return next_ < readings_.size() && readings_[next_++]; }
  double period_s() const override { return period_s_; }

 private:
  std::vector<bool> readings_;
  double period_s_;
  std::size_t next_ = 0;
};

/// 1, 2, 3 … seconds.
std::function<double()> counting() {
  return [n = 0]() mutable { return static_cast<double>(++n); };
}

TEST(Sampling, DisturbedSamplesAreMadeAgain) {
  ToldWatch watch({false, true, true, false});
  const SampleScope scope("test");
  EXPECT_THAT(sample({0, 4, 4, 0}, counting(), watch), ElementsAre(1, 4, 5, 6));
  EXPECT_EQ(scope.contended(), 0);
}

TEST(Sampling, AReadingHoldsForAllSamplesSinceTheOneBefore) {
  // Batches of at least four seconds: 1+2+3, 4, 5, 6.
  ToldWatch watch({true, false, false, false}, 4);
  EXPECT_THAT(sample({0, 3, 3, 0}, counting(), watch), ElementsAre(4, 5, 6));
}

TEST(Sampling, OnAMachineThatIsNeverQuietTheFastestCountAndItIsKnown) {
  ToldWatch watch(std::vector<bool>(100, true));
  const SampleScope scope("test");
  int calls = 0;
  const auto once = [&] { return ++calls % 2 == 0 ? 1.0 : 24.0; };
  const std::vector<double> seconds = sample({0, 3, 5, 0.1}, once, watch);
  EXPECT_THAT(seconds, Each(1.0));
  EXPECT_EQ(seconds.size(), 3U);
  EXPECT_EQ(calls, 6) << "twice the least, and the budget is spent";
  EXPECT_EQ(scope.contended(), 1);
  EXPECT_EQ(contended_so_far(), 1);
  EXPECT_TRUE(time_figure(seconds, "of a test").disturbed);
  EXPECT_TRUE(rate_figure(10, seconds, "of a test").disturbed);
  EXPECT_FALSE(time_figure({2, 3}, "of a test").disturbed);
  EXPECT_THAT(contention_note(1, 4), HasSubstr("1 of 4 series"));
  EXPECT_EQ(contention_note(0, 4), "");
}

TEST(CoreWatch, WaitingIsToldFromWakingUp) {
  const auto waited = [](std::int64_t wait_ns, std::int64_t runs) {
    return waited_for_cores(
        {{1, {500, 3}}, {2, {0, 0}}}, {{1, {500, 3}}, {2, {wait_ns, runs}}}, 10'000'000);
  };
  EXPECT_FALSE(waited(0, 0));
  EXPECT_FALSE(waited(900'000, 1)) << "a tenth of the time is no more than noise";
  EXPECT_TRUE(waited(3'000'000, 1)) << "one thread of several that waits holds up all";
  EXPECT_FALSE(waited(1'500'000, 300)) << "5 us each time it was woken";
  EXPECT_TRUE(waited_for_cores({}, {{7, {3'000'000, 1}}}, 10'000'000)) << "a new thread";
}

TEST(CoreWatch, OverloadIsMoreThanThereAreCores) {
  EXPECT_THAT(overload(11.0, 2).value_or(""), HasSubstr("11.0 on 2 CPUs"));
  EXPECT_FALSE(overload(2.2, 2)) << "our own threads, and a little";
  EXPECT_FALSE(overload(0.0, 1));
}

// --- Products -----------------------------------------------------------------------------------

program::TensorRef matrix(program::StorageId storage, std::int64_t rows, std::int64_t columns) {
  program::TensorRef ref;
  ref.storage = storage;
  ref.sizes = {rows, columns};
  ref.strides = {columns, 1};
  return ref;
}

program::Operator product() {
  program::Operator op;
  op.name = "aten::mm";
  op.arguments = {matrix(0, 512, 128), matrix(1, 128, 128)};
  op.outputs = {matrix(2, 512, 128)};
  op.flops = std::int64_t{2} * 512 * 128 * 128;
  return op;
}

hardware::OperatorTime taking(double ns) {
  hardware::OperatorTime time;
  time.time_ns = {ns, 0.0003, 30, "test"};
  return time;
}

TEST(ProductCheck, SamplesThatAgreeAreNoProof) {
  hardware::HardwareProfile profile;
  profile.compute = {{"fp32", {100e9, 0, 5, ""}}};
  profile.device_copy_bytes_per_s = hardware::Figure{20e9, 0, 5, ""};
  profile.launch_ns = hardware::Figure{2000, 0, 5, ""};
  EXPECT_THAT(implausible_product(product(), taking(24e6), profile).value_or(""),
              HasSubstr("times what 100 GFLOP/s allow"));
  EXPECT_FALSE(implausible_product(product(), taking(1e6), profile)) << "slow, but possible";
}

TEST(ProductCheck, KnowsNothingOfOtherCallsAndWithoutARate) {
  hardware::HardwareProfile profile;
  EXPECT_FALSE(implausible_product(product(), taking(24e6), profile));
  profile.compute = {{"fp32", {100e9, 0, 5, ""}}};
  program::Operator softmax = product();
  softmax.name = "aten::_softmax";
  EXPECT_FALSE(implausible_product(softmax, taking(24e6), profile));
}

}  // namespace
}  // namespace elixir::measure
