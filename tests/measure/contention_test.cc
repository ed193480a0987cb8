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
#include "measure/links/works_at_once.h"
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
  explicit Counting(
      std::function<void()> unit = [] {}, std::function<void()> end = [] {})
      : unit_(std::move(unit)), end_(std::move(end)) {}
  [[nodiscard]] std::string name() const override { return "counting"; }
  void run_unit() override {
    unit_();
    ++units;
  }
  void finish() override {
    ++finished;
    end_();
  }
  std::atomic<int> units{0}, finished{0};

 private:
  std::function<void()> unit_, end_;
};

constexpr Windows kTwo = {2, 0.01};

std::function<void()> sleeps_ms(int ms) {
  return [ms] { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
}

TEST(UnitSeconds, AreThoseOfEachWorkWhileAllRun) {
  Counting slow(sleeps_ms(5)), fast(sleeps_ms(1));
  const std::vector<std::vector<double>> seconds = unit_seconds({&slow, &fast}, kTwo);
  ASSERT_EQ(seconds.size(), 2U);
  for (const std::vector<double>& of_work : seconds) EXPECT_EQ(of_work.size(), 2U);
  for (const double of_slow : seconds[0]) EXPECT_GE(of_slow, 0.005);
  for (const double of_fast : seconds[1]) EXPECT_GE(of_fast, 0.001);
  EXPECT_GE(slow.units, 7) << "three of warm-up, and two in each window";
  EXPECT_GE(fast.units, 7);
  for (const Counting* work : {&slow, &fast}) EXPECT_EQ(work->finished, 1);
  const int after = fast.units;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(fast.units, after) << "and stopped";
}

/// A unit whose thread wakes up late leaves less to do for the next one. Their mean counts.
TEST(UnitSeconds, OfUnequalUnitsAreTheirMean) {
  int units = 0;
  Counting uneven([&] { sleeps_ms(++units % 2 == 0 ? 9 : 1)(); });
  const std::vector<double> seconds = unit_seconds({&uneven}, {2, 0.2}).front();
  ASSERT_EQ(seconds.size(), 2U);
  for (const double mean : seconds) EXPECT_GT(mean, 0.0045) << "neither 1 nor 9 ms";
}

TEST(UnitSeconds, FailWhenAWorkDoes) {
  Counting sound(sleeps_ms(1)), broken([] { throw std::runtime_error("gone"); });
  EXPECT_THROW((void)unit_seconds({&sound, &broken}, kTwo), std::runtime_error);
  EXPECT_THROW((void)unit_seconds({&broken, &sound}, kTwo), std::runtime_error);
  EXPECT_EQ(sound.finished, 2);
  Counting ends_badly(sleeps_ms(1), [] { throw std::runtime_error("lost"); });
  EXPECT_THROW((void)unit_seconds({&ends_badly, &sound}, kTwo), std::runtime_error);
  EXPECT_EQ(sound.finished, 3);
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
    const std::vector<double> seconds = unit_seconds({adam.get()}, kTwo).front();
    for (const double unit : seconds) EXPECT_GT(unit, 0);
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
