// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/core_watch.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "measure/machine/machine.h"

namespace elixir::measure {
namespace {

using Clock = std::chrono::steady_clock;

/// The time that an idle core needs to wake up.
constexpr std::int64_t kWakeUpNs = 10'000;
constexpr double kDisturbedShare = 0.1;
constexpr double kLeastPeriodS = 2e-3;
/// Reading may use at most one part in this many of the time.
constexpr double kReadingParts = 30;
/// Above 1, because our own threads are part of the load average, and it lags.
constexpr double kOverload = 1.25;

std::map<int, ThreadWait> read_threads() {
  std::map<int, ThreadWait> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/task", error), end; !error && at != end;
       at.increment(error)) {
    std::ifstream file(at->path() / "schedstat");
    std::int64_t ran_ns = 0;
    ThreadWait wait;
    if (file >> ran_ns >> wait.wait_ns >> wait.runs) {
      threads.emplace(std::atoi(at->path().filename().c_str()), wait);
    }
  }
  return threads;
}

}  // namespace

bool waited_for_cores(const std::map<int, ThreadWait>& before,
                      const std::map<int, ThreadWait>& after,
                      std::int64_t elapsed_ns) {
  return std::any_of(after.begin(), after.end(), [&](const auto& thread) {
    const auto found = before.find(thread.first);
    const ThreadWait start = found == before.end() ? ThreadWait{} : found->second;
    const std::int64_t waited =
        thread.second.wait_ns - start.wait_ns - kWakeUpNs * (thread.second.runs - start.runs);
    return static_cast<double>(waited) > kDisturbedShare * static_cast<double>(elapsed_ns);
  });
}

void CoreWatch::restart() {
  const Clock::time_point start = Clock::now();
  threads_ = read_threads();
  at_ = Clock::now();
  reading_s_ = std::chrono::duration<double>(at_ - start).count();
}

bool CoreWatch::was_disturbed() {
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - at_);
  const std::map<int, ThreadWait> before = std::move(threads_);
  restart();
  return waited_for_cores(before, threads_, elapsed.count());
}

double CoreWatch::period_s() const {
  return std::max(kLeastPeriodS, kReadingParts * reading_s_);
}

std::optional<std::string> overload(double load_average, int cpus) {
  if (load_average <= kOverload * cpus) return std::nullopt;
  return fmt::format(
      "the load average is {:.1f} on {} CPU{}", load_average, cpus, cpus == 1 ? "" : "s");
}

std::optional<std::string> overload() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return std::nullopt;
  return overload(load, describe_machine(1).logical_cpus);
}

}  // namespace elixir::measure
