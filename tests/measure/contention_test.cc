// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Works that run at once, the definitions of collectives, and notes about clocks and CUPTI.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/collectives/collectives.h"
#include "measure/links/contending_work.h"
#include "measure/machine/clocks.h"
#include "measure/measure.h"
#include "measure/operators/operators.h"

namespace elixir::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// Counts its units. The unit may depend on whether others run.
class Counting : public ContendingWork {
 public:
  explicit Counting(std::function<void()> unit = [] {}) : unit_(std::move(unit)) {}
  [[nodiscard]] std::string name() const override { return "counting"; }
  void run_unit() override {
    unit_();
    ++units;
  }
  void finish() override { ++finished; }
  std::atomic<int> units{0}, finished{0};

 private:
  std::function<void()> unit_;
};

constexpr Sampling kSix = {2, 6, 6, 0.0};

TEST(UnitSeconds, RunsTheOtherWorkFromBeforeToAfter) {
  Counting other([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  int seen_first = -1;
  Counting work([&] {
    if (seen_first < 0) seen_first = other.units;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  EXPECT_EQ(unit_seconds(work, {}, kSix).size(), 6U);
  EXPECT_EQ(other.units, 0) << "alone means alone";
  // Samples that other work disturbed are repeated.
  EXPECT_GE(work.units, 8) << "two of warm-up";
  seen_first = -1;
  const std::vector<double> beside = unit_seconds(work, {&other}, kSix);
  EXPECT_EQ(beside.size(), 6U);
  EXPECT_GE(seen_first, 1) << "the other was under way when the first unit began";
  EXPECT_GE(other.units, 6);
  EXPECT_EQ(other.finished, 1);
  const int after = other.units;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(other.units, after) << "and stopped";
}

TEST(UnitSeconds, FailsWhenTheOtherWorkDoes) {
  Counting work, broken([] { throw std::runtime_error("gone"); });
  EXPECT_THROW((void)unit_seconds(work, {&broken}, kSix), std::runtime_error);
  Counting sound;
  Counting throws([] { throw std::runtime_error("mine"); });
  EXPECT_THROW((void)unit_seconds(throws, {&sound}, kSix), std::runtime_error);
}

TEST(HostWorks, DoTheirUnits) {
  EXPECT_EQ(make_host_copy_work(1 << 20, 1)->name(), "host_copy");
  kernels::ThreadPool pool(2);
  SpreadMemory memory(std::size_t{16} << 20, pool, nullptr);
  std::vector<std::string> names;
  RankAdam::Pools ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(std::make_unique<kernels::ThreadPool>(
        1, kernels::Binding::kNone, 0, kernels::Caller::kGivesJobs));
  }
  for (const auto& adam : make_adam_cpu_works(1 << 16, memory, std::move(ranks))) {
    names.push_back(adam->name());
    for (const double seconds : unit_seconds(*adam, {}, kSix)) EXPECT_GT(seconds, 0);
  }
  EXPECT_THAT(names, ElementsAre("adam_cpu", "adam_cpu_parameters", "adam_cpu_moments"));
}

TEST(Contention, OnTheCpuIsBetweenMemoryWorks) {
  Request request;
  request.only = std::vector<std::string>{"contention"};
  request.device = DeviceChoice::kCpu;
  request.effort = Effort::kQuick;
  const hardware::HardwareProfile p = measure(request).profile;
  if (p.machine.threads < 2) {
    EXPECT_THAT(p.waived.at("contention"), HasSubstr("one thread"));
    return;
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const hardware::Contention& cell : p.contention) {
    pairs.emplace_back(cell.work, cell.beside);
    EXPECT_GT(cell.slowdown.median, 0.3);
    EXPECT_GE(cell.slowdown.samples, 3);
  }
  EXPECT_THAT(pairs,
              UnorderedElementsAre(Pair("adam_cpu", "host_copy"), Pair("host_copy", "adam_cpu")));
}

TEST(Collectives, BusBandwidthIsThatOfNcclTests) {
  // Source: doc/PERFORMANCE.md of nccl-tests.
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOperation::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOperation::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOperation::kReduceScatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOperation::kBroadcast, 4), 1);
}

TEST(Collectives, NeedTwoGpus) {
  EXPECT_TRUE(collectives_unavailable(1));
}

TEST(Clocks, AreSaidToBeHeldDownByCause) {
  EXPECT_EQ(clock_note(0), "");
  EXPECT_EQ(clock_note(0x1), "") << "an idle GPU is not held down";
  EXPECT_EQ(clock_note(kPowerCap | kHardwareHeat),
            "the GPU's clocks were held down: power cap, heat");
  EXPECT_EQ(clock_note(kHardwareSlowdown | kSoftwareHeat), "the GPU's clocks were held down: heat");
  EXPECT_THAT(clock_note(kHardwareSlowdown), HasSubstr("hardware slowdown"));
}

TEST(Clocks, AreNotWatchedWithoutGpus) {
  ClockWatch watch({});
  EXPECT_EQ(watch.stop(), 0U);
  ClockWatch unknown({"0000:ff:1f.7"});
  EXPECT_EQ(unknown.stop(), 0U) << "and a GPU that the driver does not know is none";
}

TEST(KernelTimer, WithoutPermissionIsWaivedAndEventsTimeTheCalls) {
  Bench bench;
  bench.device = DeviceKind::kCuda;
  hardware::HardwareProfile profile;
  EXPECT_TRUE(use_kernel_timer(bench, profile));
  bench.no_kernel_timer = "CUPTI has no permission here";
  EXPECT_FALSE(use_kernel_timer(bench, profile));
  EXPECT_EQ(profile.waived.at("operators by CUPTI"), "CUPTI has no permission here");
  bench.no_kernel_timer.reset();
  EXPECT_TRUE(use_kernel_timer(bench, profile));
  EXPECT_EQ(profile.waived.count("operators by CUPTI"), 0U) << "allowed again";
}

}  // namespace
}  // namespace elixir::measure
