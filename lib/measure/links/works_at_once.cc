// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/links/works_at_once.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "core/interrupt.h"

namespace elixir::measure {
namespace {

using Clock = std::chrono::steady_clock;

// The first units of a GPU's work are queued without waiting.
constexpr std::int64_t kWarmUpUnits = 3;
constexpr std::int64_t kUnitsInWindow = 2;

/// Runs units of a work on its own thread while it lives.
class Runner {
 public:
  struct Progress {
    std::int64_t units = 0;
    Clock::time_point last_end;
  };

  explicit Runner(ContendingWork& work) : thread_([this, &work] { run(work); }) {}
  ~Runner() { stop(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] Progress progress() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return progress_;
  }
  /// Waits for the work's end.
  void stop() {
    stopping_.store(true);
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(ContendingWork& work) {
    try {
      while (!stopping_.load()) {
        work.run_unit();
        const std::lock_guard lock(mutex_);
        ++progress_.units;
        progress_.last_end = Clock::now();
      }
      work.finish();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  Progress progress_;
  std::exception_ptr failure_;
  std::thread thread_;  // last, because it uses all members above
};

class Runners {
 public:
  explicit Runners(const std::vector<ContendingWork*>& works) {
    for (ContendingWork* work : works) runners_.push_back(std::make_unique<Runner>(*work));
  }
  /// Rethrows what went wrong until the end.
  void stop() {
    for (const auto& runner : runners_) runner->stop();
    for (const auto& runner : runners_) static_cast<void>(runner->progress());
  }
  /// Returns when `least_s` have passed and each work has done so many units more than `before`.
  [[nodiscard]] std::vector<Runner::Progress> wait(const std::vector<Runner::Progress>& before,
                                                   std::int64_t units,
                                                   double least_s) {
    const auto end = Clock::now() + std::chrono::duration<double>(least_s);
    for (;;) {
      throw_if_interrupted();
      std::vector<Runner::Progress> now;
      now.reserve(runners_.size());
      for (const auto& runner : runners_) now.push_back(runner->progress());
      bool enough = Clock::now() >= end;
      for (std::size_t i = 0; i < now.size(); ++i) {
        enough = enough && now[i].units >= before[i].units + units;
      }
      if (enough) return now;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace

std::vector<std::vector<double>> unit_seconds(const std::vector<ContendingWork*>& works,
                                              const Windows& windows) {
  Runners runners(works);
  std::vector<Runner::Progress> before =
      runners.wait(std::vector<Runner::Progress>(works.size()), kWarmUpUnits, 0);
  std::vector<std::vector<double>> seconds(works.size());
  for (int window = 0; window < windows.count; ++window) {
    const std::vector<Runner::Progress> now = runners.wait(before, kUnitsInWindow, windows.least_s);
    for (std::size_t i = 0; i < works.size(); ++i) {
      const std::chrono::duration<double> passed = now[i].last_end - before[i].last_end;
      seconds[i].push_back(passed.count() / static_cast<double>(now[i].units - before[i].units));
    }
    before = now;
  }
  runners.stop();
  return seconds;
}

}  // namespace elixir::measure
