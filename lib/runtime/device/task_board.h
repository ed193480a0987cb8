// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The progress of a step's tasks. A device's lanes (one thread per stream) use it to learn whether a
// task of another lane was issued to the GPU, or has finished on the host. Thread-safe.

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

namespace elixir::runtime {

class TaskBoard {
 public:
  /// Thrown to waiters when the step was abandoned.
  struct Abandoned {};

  /// Marks all tasks as pending and clears the failure.
  void reset(std::size_t tasks) {
    const std::scoped_lock lock(mutex_);
    settled_.assign(tasks, false);
    failure_ = nullptr;
    failed_ = false;
  }
  /// Marks the task as issued (device streams) or finished (cpu stream).
  void settle(std::size_t task) {
    const std::scoped_lock lock(mutex_);
    settled_[task] = true;
    changed_.notify_all();
  }
  /// Keeps the first failure and wakes all waiters.
  void fail(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    failed_ = true;
    changed_.notify_all();
  }
  /// Waits until the task is settled. Throws Abandoned when the step has failed.
  void wait(std::size_t task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || settled_[task]; });
    if (failed_) throw Abandoned{};
  }
  [[nodiscard]] bool failed() const {
    const std::scoped_lock lock(mutex_);
    return failed_;
  }
  /// nullptr when no task has failed.
  [[nodiscard]] std::exception_ptr failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> settled_;
  std::exception_ptr failure_;
  bool failed_ = false;
};

}  // namespace elixir::runtime
