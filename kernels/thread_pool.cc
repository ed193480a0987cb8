// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/thread_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/cpu_affinity.h"

namespace elixir::kernels {
namespace {

// Some microseconds: longer than the gap between two passes over neighbouring chunks, shorter than
// a time slice.
constexpr int kSpins = 4000;
constexpr int kNoCpu = -1;

// Of a thread's part. Fewer would leave more to wait for at the end, more would cost more calls.
constexpr std::size_t kPieces = 16;

/// A thread's part of a job, in grains. On a cache line of its own, because each piece taken writes
/// it.
struct alignas(64) Part {
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
};

}  // namespace

struct ThreadPool::State {
  int threads = 1;
  std::vector<std::thread> workers;

  std::mutex mutex;
  std::condition_variable started, finished;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<int> running{0};
  std::atomic<bool> stopping{false};
  std::atomic<int> ready{0}, bound{0};

  // The current job. It is written before `generation` changes.
  const std::function<void(std::size_t, std::size_t)>* body = nullptr;
  std::size_t n = 0, grain = 1, grains_in_piece = 1;
  std::vector<Part> parts;     // by thread
  std::exception_ptr failure;  // under mutex

  void share_out() {
    const std::size_t grains = (n + grain - 1) / grain;
    const std::size_t count = parts.size();
    for (std::size_t p = 0; p < count; ++p) {
      parts[p].next.store(grains * p / count);
      parts[p].end = grains * (p + 1) / count;
    }
    grains_in_piece = std::max<std::size_t>(grains / count / kPieces, 1);
  }

  /// Pieces of the thread's own part first, then of the parts after it.
  void run_from(int part) {
    try {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        take_pieces(parts[(static_cast<std::size_t>(part) + i) % parts.size()]);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void take_pieces(Part& part) const {
    while (part.next.load(std::memory_order_relaxed) < part.end) {
      const std::size_t first = part.next.fetch_add(grains_in_piece);
      if (first >= part.end) return;
      const std::size_t last = std::min(first + grains_in_piece, part.end);
      (*body)(first * grain, std::min(n, last * grain));
    }
  }

  void work(int part) {
    std::uint64_t seen = 0;
    while (true) {
      for (int spin = 0; spin < kSpins && generation.load() == seen; ++spin) _mm_pause();
      if (generation.load() == seen) {
        std::unique_lock lock(mutex);
        started.wait(lock, [&] { return generation.load() != seen; });
      }
      seen = generation.load();
      if (stopping.load()) return;
      run_from(part);
      if (running.fetch_sub(1) == 1) {
        const std::lock_guard lock(mutex);
        finished.notify_one();
      }
    }
  }

  void start() {
    const std::lock_guard lock(mutex);
    generation.fetch_add(1);
    started.notify_all();
  }

  void end_workers() {
    stopping.store(true);
    start();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads, Binding binding, int first_cpu)
    : state_(std::make_unique<State>()) {
  state_->threads = std::max(threads, 1);
  state_->parts = std::vector<Part>(static_cast<std::size_t>(state_->threads));
  std::vector<int> cpus;
  if (binding == Binding::kOneCpuEach) cpus = allowed_cpus();
  const bool binds = first_cpu >= 0 && cpus.size() >= static_cast<std::size_t>(first_cpu) +
                                                          static_cast<std::size_t>(state_->threads);
  try {
    for (int part = 1; part < state_->threads; ++part) {
      const int cpu = binds ? cpus[static_cast<std::size_t>(first_cpu + part)] : kNoCpu;
      state_->workers.emplace_back([state = state_.get(), part, cpu] {
        if (cpu != kNoCpu && bind_thread_to(cpu)) state->bound.fetch_add(1);
        state->ready.fetch_add(1);
        state->work(part);
      });
    }
  } catch (...) {  // the system has no room for so many threads
    state_->end_workers();
    throw;
  }
  while (state_->ready.load() < state_->threads - 1) std::this_thread::yield();
}

ThreadPool::~ThreadPool() {
  state_->end_workers();
}

int ThreadPool::threads() const {
  return state_->threads;
}

int ThreadPool::bound_threads() const {
  return state_->bound.load();
}

void ThreadPool::parallel_for(std::size_t n,
                              std::size_t grain,
                              const std::function<void(std::size_t, std::size_t)>& body) {
  if (n == 0) return;
  if (state_->threads == 1 || n <= grain) {
    body(0, n);
    return;
  }
  state_->body = &body;
  state_->n = n;
  state_->grain = std::max<std::size_t>(grain, 1);
  state_->failure = nullptr;
  state_->share_out();
  state_->running.store(state_->threads - 1);
  state_->start();
  state_->run_from(0);
  for (int spin = 0; spin < kSpins && state_->running.load() > 0; ++spin) _mm_pause();
  if (state_->running.load() > 0) {
    std::unique_lock lock(state_->mutex);
    state_->finished.wait(lock, [&] { return state_->running.load() == 0; });
  }
  if (state_->failure) std::rethrow_exception(state_->failure);
}

}  // namespace elixir::kernels
