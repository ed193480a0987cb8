// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A thread that runs jobs in order. Jobs must not throw. The owner must wait until the lane is idle
// before it destroys what jobs use.
//
// A job costs less than a microsecond unless the lane sleeps: jobs lie in memory that is used
// again, the lane takes all that wait at once, and only who sleeps is woken.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/inline_function.h"

namespace elixir::runtime {

class Lane {
 public:
  /// With room for a task's body (task_body.h) and what belongs to it.
  static constexpr std::size_t kJobBytes = 352;
  using Job = InlineFunction<void(), kJobBytes>;

  /// `start` runs on the thread, before any job.
  explicit Lane(std::function<void()> start)
      : thread_([this, start = std::move(start)] {
          start();
          run();
        }) {}
  ~Lane() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    pushed_.notify_one();
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Returns the job's number: 1 for the first.
  std::uint64_t push(Job job) {
    bool wakes = false;
    std::uint64_t number = 0;
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(std::move(job));
      number = ++pushed_count_;
      wakes = sleeping_;
    }
    if (wakes) pushed_.notify_one();
    return number;
  }
  /// Returns when job `number` and all before it are done and gone. Later ones may still run.
  void wait_for(std::uint64_t number) {
    for (auto done = done_count_.load(); done < number; done = done_count_.load()) {
      done_count_.wait(done);
    }
  }
  /// Returns when every job pushed so far is done.
  void wait_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return waiting_.empty() && !busy_; });
  }

 private:
  void run() {
    std::vector<Job> running;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (waiting_.empty()) {
        busy_ = false;
        idle_.notify_all();
        sleeping_ = true;
        pushed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        sleeping_ = false;
        if (waiting_.empty()) return;
      }
      busy_ = true;
      std::swap(running, waiting_);
      lock.unlock();
      for (Job& job : running) {
        job();
        job = Job();  // what it holds must not outlive it
        ++done_count_;
        done_count_.notify_all();
      }
      running.clear();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable pushed_, idle_;
  std::vector<Job> waiting_;
  bool stopping_ = false;
  bool sleeping_ = false;
  bool busy_ = false;  ///< with jobs that wait no more
  std::uint64_t pushed_count_ = 0;
  std::atomic<std::uint64_t> done_count_{0};
  std::thread thread_;  // last, because it uses all members above
};

}  // namespace elixir::runtime
