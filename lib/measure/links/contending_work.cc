// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/links/contending_work.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "core/error.h"
#include "kernels/copy.h"
#include "measure/adam/rank_adam.h"
#include "measure/host/host_memory.h"

namespace elixir::measure {
namespace {

class HostCopyWork : public ContendingWork {
 public:
  HostCopyWork(std::size_t bytes, int threads)
      : pool_(threads), from_(bytes, pool_, 0x5A), to_(bytes, pool_) {}
  [[nodiscard]] std::string name() const override { return "host_copy"; }
  void run_unit() override { kernels::copy_cpu(to_.data(), from_.data(), from_.bytes(), pool_); }

 private:
  kernels::ThreadPool pool_;
  HostMemory from_, to_;
};

class AdamCpuWork : public ContendingWork {
 public:
  AdamCpuWork(std::shared_ptr<RankAdam> adam, hardware::AdamWrites writes)
      : adam_(std::move(adam)), writes_(writes) {}
  [[nodiscard]] std::string name() const override {
    return std::string(hardware::kContendingAdam.name_of(writes_));
  }
  void run_unit() override {
    adam_->write(writes_);
    adam_->begin_pass();
  }
  void finish() override { adam_->finish(); }

 private:
  std::shared_ptr<RankAdam> adam_;
  hardware::AdamWrites writes_;
};

/// Work keeps units queued, so a unit whose thread wakes up late leaves less to do for the next one: single units may take
/// from half to twice their time. Several with all that they queue take theirs.
constexpr int kUnitsInSample = 3;

/// Runs units of a work on its own thread while it lives.
class Background {
 public:
  explicit Background(ContendingWork& work)
      : thread_([this, &work] {
          try {
            while (!stopping_.load()) {
              work.run_unit();
              ready_.store(true);
              ready_.notify_all();
            }
            work.finish();
          } catch (...) {
            failure_ = std::current_exception();
          }
          ready_.store(true);
          ready_.notify_all();
        }) {
    ready_.wait(false);
  }
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Rethrows an exception of the work, because a work that ended early did not disturb anything.
  void check() {
    stop();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void stop() {
    stopping_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<bool> stopping_{false}, ready_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ContendingWork> make_host_copy_work(std::size_t bytes, int threads) {
  return std::make_unique<HostCopyWork>(bytes, threads);
}

std::vector<std::unique_ptr<ContendingWork>> make_adam_cpu_works(std::size_t parameters,
                                                                 SpreadMemory& memory,
                                                                 RankAdam::Pools pools) {
  const AdamPass most_common{.gradient = kernels::Element::kBFloat16, .split = true};
  const auto adam = std::make_shared<RankAdam>(most_common, parameters, memory, std::move(pools));
  std::vector<std::unique_ptr<ContendingWork>> works;
  for (const auto& pass : hardware::kContendingAdam.entries) {
    works.push_back(std::make_unique<AdamCpuWork>(adam, pass.value));
  }
  return works;
}

std::vector<double> unit_seconds(ContendingWork& work,
                                 const std::vector<ContendingWork*>& others,
                                 const Sampling& sampling) {
  const auto once = [&] {
    const double all = seconds_of([&] {
      for (int i = 0; i < kUnitsInSample; ++i) work.run_unit();
      work.finish();
    });
    return all / kUnitsInSample;
  };
  std::vector<double> seconds;
  if (others.empty()) {
    seconds = sample(sampling, once);
  } else {
    std::vector<std::unique_ptr<Background>> backgrounds;
    backgrounds.reserve(others.size());
    for (ContendingWork* other : others) {
      backgrounds.push_back(std::make_unique<Background>(*other));
    }
    NoWatch contended_on_purpose;
    seconds = sample(sampling, once, contended_on_purpose);
    for (const auto& background : backgrounds) background->check();
  }
  return seconds;
}

}  // namespace elixir::measure
