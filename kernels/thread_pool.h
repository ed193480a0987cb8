// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A persistent thread pool. Each thread begins with the same part of a range every time, so that it
// touches the same pages. Who is done takes over pieces of others' parts: one thread that shares its
// core with something else must not hold up all of them. Independent of LibTorch's threads. Only one
// thread may call it at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace elixir::kernels {

enum class Binding : std::uint8_t { kNone, kOneCpuEach };

class ThreadPool {
 public:
  /// `threads` must be at least 1; the caller is one of them. With kOneCpuEach, helper i is bound
  /// to CPU `first_cpu` + i of allowed_cpus() (cpu_affinity.h). CPU `first_cpu` is left to the
  /// caller, which is not bound. If there are not as many CPUs, none is bound. Pools that work at
  /// the same time must not have the same CPUs.
  explicit ThreadPool(int threads, Binding binding = Binding::kNone, int first_cpu = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  [[nodiscard]] int threads() const;
  /// Number of helpers that the system allowed to bind.
  [[nodiscard]] int bound_threads() const;
  /// Calls body(begin, end) for contiguous pieces of [0, n) whose borders are multiples of `grain`,
  /// several on each thread. Returns when all are done.
  void parallel_for(std::size_t n,
                    std::size_t grain,
                    const std::function<void(std::size_t, std::size_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::kernels
