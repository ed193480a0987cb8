// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A persistent thread pool. Each thread begins with the same part of a range every time, so that it
// touches the same pages. Who is done takes over pieces of others' parts: one thread that shares
// its core with something else must not hold up all of them. Nor must the last piece of a job hold
// up the jobs behind it: begin() lets threads go on with the next one. Independent of LibTorch's
// threads. Only one thread may call it at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace elixir::kernels {

enum class Binding : std::uint8_t { kNone, kOneCpuEach };
/// Whether the thread that calls the pool is one of its threads, or only gives them jobs.
enum class Caller : std::uint8_t { kIsAThread, kGivesJobs };

class ThreadPool {
 public:
  /// Calls body(begin, end) for contiguous pieces of [0, n) whose borders are multiples of the
  /// grain.
  using Body = std::function<void(std::size_t, std::size_t)>;

  /// `threads` must be at least 1. With kOneCpuEach, thread i is bound to CPU `first_cpu` + i of
  /// allowed_cpus() (cpu_affinity.h), but not the caller. If there are not as many CPUs, none is
  /// bound. Pools that work at the same time must not have the same CPUs.
  explicit ThreadPool(int threads,
                      Binding binding = Binding::kNone,
                      int first_cpu = 0,
                      Caller caller = Caller::kIsAThread);
  /// Waits for jobs that were begun.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  [[nodiscard]] int threads() const;
  [[nodiscard]] Caller caller() const;
  /// Number of threads that the system allowed to bind.
  [[nodiscard]] int bound_threads() const;

  /// Shares [0, n) among the threads, several pieces for each. Returns when all are done, and jobs
  /// begun before, too, and rethrows the first exception of `body`.
  void parallel_for(std::size_t n, std::size_t grain, const Body& body);

  /// Begins the same as a job and returns its number: 1 for the first. `body` must not throw.
  /// Threads come to jobs in this order, each when it finds no more pieces of the one before, so
  /// that the last pieces of a job overlap with the next job. Jobs end in order. Waits until every
  /// thread has left the job kMostJobs before. The pool must have Caller::kGivesJobs.
  std::uint64_t begin(std::size_t n, std::size_t grain, Body body);
  /// Calls `done` when every job that was begun has ended: now, or later on any thread. Calls come
  /// one after another, in order. `done` must not throw nor call the pool.
  void when_ended(std::function<void()> done);
  /// Returns when job `number` and those before it have ended.
  void wait_for(std::uint64_t number);
  /// Returns when every job has ended.
  void wait_idle();
  [[nodiscard]] bool idle() const;
  /// Enough that a thread without its core does not hold up the others: it may be late by a time
  /// slice, and jobs can be small.
  static constexpr std::size_t kMostJobs = 64;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::kernels
