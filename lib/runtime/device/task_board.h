// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The progress of a step's tasks. A device's lanes (one thread per stream) use it to learn whether
// a task of another lane was issued to the GPU, or has finished on the host. Thread-safe.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace elixir::runtime {

class TaskBoard {
 public:
  /// Thrown to waiters when the step was abandoned.
  struct Abandoned {};

  /// Marks all tasks as pending and clears the failure. Nobody may wait.
  void reset(std::size_t tasks) {
    const std::scoped_lock lock(mutex_);
    while (states_.size() < tasks) states_.emplace_back(State::kPending);
    tasks_ = tasks;
    for (std::size_t i = 0; i < tasks; ++i)
      states_[i].store(State::kPending, std::memory_order_relaxed);
    failure_ = nullptr;
    failed_ = false;
  }
  /// Marks the task as issued (device streams) or finished (cpu stream). Wakes only the threads
  /// that wait for it.
  void settle(std::size_t task) {
    // Once it is stored, others may end the step and reset the board.
    std::atomic<State>& state = states_[task];
    state.store(State::kSettled);
    state.notify_all();
  }
  /// Keeps the first failure and wakes all waiters.
  void fail(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    failed_ = true;
    for (std::size_t i = 0; i < tasks_; ++i) {
      State pending = State::kPending;
      states_[i].compare_exchange_strong(pending, State::kAbandoned);
      states_[i].notify_all();
    }
  }
  /// Waits until the task is settled. Throws Abandoned when the step has failed.
  void wait(std::size_t task) {
    states_[task].wait(State::kPending);
    if (failed_) throw Abandoned{};
  }
  [[nodiscard]] bool failed() const { return failed_; }
  /// nullptr when no task has failed.
  [[nodiscard]] std::exception_ptr failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

 private:
  enum class State : std::uint32_t { kPending, kSettled, kAbandoned };

  mutable std::mutex mutex_;
  std::deque<std::atomic<State>> states_;  ///< by task; never moved
  std::size_t tasks_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace elixir::runtime
