// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A thread that runs jobs in order. Jobs must not throw. The owner must wait until the lane is idle
// before it destroys what jobs use.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace elixir::runtime {

class Lane {
 public:
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
    changed_.notify_all();
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void push(std::function<void()> job) {
    {
      const std::scoped_lock lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
  }
  /// Returns when every job pushed so far is done.
  void wait_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
      lock.unlock();
      job();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  bool busy_ = false;
  std::thread thread_;  // last, because it uses all members above
};

}  // namespace elixir::runtime
