// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/contending_work.h"

#include <atomic>
#include <exception>
#include <thread>

#include "core/error.h"
#include "kernels/copy.h"
#include "measure/host_memory.h"
#include "measure/streams.h"

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
  AdamCpuWork(std::size_t parameters, int threads)
      : pool_(threads),
        n_(parameters / kStreamGrain * kStreamGrain),
        states_(n_ * 12, pool_, 1),
        halves_(n_ * 4, pool_, 1) {}
  [[nodiscard]] std::string name() const override { return "adam_cpu"; }
  void run_unit() override {
    auto* words = states_.as<std::uint32_t>();
    auto* gradient = halves_.as<std::uint16_t>();
    stream_adam({words, words + n_, words + 2 * n_, gradient, gradient + n_}, n_, pool_);
  }

 private:
  kernels::ThreadPool pool_;
  std::size_t n_;
  HostMemory states_, halves_;
};

/// Runs units of a work on a thread of its own while it lives.
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
  /// Throws what the work threw: a work that ended early disturbed nothing.
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

std::unique_ptr<ContendingWork> make_adam_cpu_work(std::size_t parameters, int threads) {
  return std::make_unique<AdamCpuWork>(parameters, threads);
}

std::vector<double> unit_seconds(ContendingWork& work,
                                 ContendingWork* other,
                                 const Sampling& sampling) {
  const auto once = [&] { return seconds_of([&] { work.run_unit(); }); };
  std::vector<double> seconds;
  if (other == nullptr) {
    seconds = sample(sampling, once);
  } else {
    Background background(*other);
    seconds = sample(sampling, once);
    background.check();
  }
  work.finish();
  return seconds;
}

}  // namespace elixir::measure
