// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A persistent pool with static ranges: the same thread always gets the same part, so that it
// touches the same pages. Independent of LibTorch's threads. One caller at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace elixir::kernels {

enum class Binding : std::uint8_t { kNone, kOneCpuEach };

class ThreadPool {
 public:
  /// threads >= 1; the caller is one of them. With kOneCpuEach helper i is bound to the i-th CPU of
  /// allowed_cpus() (cpu_affinity.h) and the first is left to the caller, which stays unbound; more
  /// threads than CPUs are not bound at all.
  explicit ThreadPool(int threads, Binding binding = Binding::kNone);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  [[nodiscard]] int threads() const;
  /// Helpers that the system let be bound.
  [[nodiscard]] int bound_threads() const;
  /// Calls body(begin, end) for contiguous parts of [0, n) whose borders are multiples of `grain`;
  /// returns when all are done.
  void parallel_for(std::size_t n,
                    std::size_t grain,
                    const std::function<void(std::size_t, std::size_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::kernels
