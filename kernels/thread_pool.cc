// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/thread_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
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

struct Job {
  ThreadPool::Body body;
  std::vector<std::function<void()>> when_ended;  ///< under State::mutex
  std::size_t n = 0, grain = 1, grains_in_piece = 1;
  std::vector<Part> parts;                  ///< by thread
  std::atomic<std::size_t> grains_left{0};  ///< not done yet
  /// Helpers that have still to come by. Until then they read all of this.
  std::atomic<int> visitors_left{0};

  void share_out() {
    const std::size_t all = (n + grain - 1) / grain, count = parts.size();
    for (std::size_t p = 0; p < count; ++p) {
      parts[p].next.store(all * p / count);
      parts[p].end = all * (p + 1) / count;
    }
    grains_in_piece = std::max<std::size_t>(parts.front().end / kPieces, 1);
    grains_left.store(all);
  }
  /// Does pieces of `part`, then of the parts after it, until none is left that nobody has begun.
  /// Returns whether it did the one that ended last.
  bool take_pieces_from(std::size_t part) {
    bool last = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      last |= take_pieces(parts[(part + i) % parts.size()]);
    }
    return last;
  }

 private:
  bool take_pieces(Part& part) {
    bool last = false;
    while (part.next.load(std::memory_order_relaxed) < part.end) {
      const std::size_t first = part.next.fetch_add(grains_in_piece);
      if (first >= part.end) break;
      const std::size_t end = std::min(first + grains_in_piece, part.end);
      body(first * grain, std::min(n, end * grain));
      last |= grains_left.fetch_sub(end - first) == end - first;
    }
    return last;
  }
};

}  // namespace

struct ThreadPool::State {
  int threads = 1;
  Caller caller = Caller::kIsAThread;
  std::vector<std::thread> helpers;

  std::mutex mutex;
  std::condition_variable begins;   ///< for helpers: a job, or the end
  std::condition_variable changes;  ///< for the caller: a job has ended, or its place is free
  int sleeping = 0;                 ///< helpers that wait for `begins`; under mutex
  std::atomic<std::uint64_t> begun{0}, ended{0};
  std::atomic<bool> stopping{false};
  std::atomic<int> ready{0}, bound{0};
  std::array<Job, kMostJobs> jobs;  ///< in turn

  Job& job(std::uint64_t number) { return jobs[number % kMostJobs]; }

  std::uint64_t begin(std::size_t n, std::size_t grain, Body body) {
    if (n == 0) return begun.load();
    const std::uint64_t number = begun.load() + 1;
    Job& next = job(number);
    wait_until([&] { return next.visitors_left.load() == 0; });
    next.body = std::move(body);
    next.n = n;
    next.grain = std::max<std::size_t>(grain, 1);
    next.share_out();
    next.visitors_left.store(static_cast<int>(helpers.size()));
    const std::lock_guard lock(mutex);
    begun.store(number);
    if (sleeping > 0) begins.notify_all();
    return number;
  }

  /// A job has no pieces left. It ends when those before it have ended.
  void end_jobs() {
    const std::lock_guard lock(mutex);
    while (ended.load() < begun.load() && job(ended.load() + 1).grains_left.load() == 0) {
      Job& ends = job(ended.load() + 1);
      for (const std::function<void()>& done : ends.when_ended) done();
      ends.when_ended.clear();
      ended.fetch_add(1);
    }
    changes.notify_all();
  }

  void when_ended(std::function<void()> done) {
    const std::lock_guard lock(mutex);
    if (ended.load() == begun.load()) return done();
    job(begun.load()).when_ended.push_back(std::move(done));
  }

  void work(std::size_t part) {
    for (std::uint64_t number = 1;; ++number) {
      const auto has_begun = [&] { return begun.load() >= number; };
      for (int spin = 0; spin < kSpins && !has_begun(); ++spin) _mm_pause();
      if (!has_begun()) {
        std::unique_lock lock(mutex);
        ++sleeping;
        begins.wait(lock, [&] { return has_begun() || stopping.load(); });
        --sleeping;
        if (!has_begun()) return;
      }
      Job& current = job(number);
      if (current.take_pieces_from(part)) end_jobs();
      if (current.visitors_left.fetch_sub(1) == 1) {
        const std::lock_guard lock(mutex);
        changes.notify_all();
      }
    }
  }

  template <class Condition>
  void wait_until(const Condition& condition) {
    if (condition()) return;
    std::unique_lock lock(mutex);
    changes.wait(lock, condition);
  }

  void end_helpers() {
    {
      const std::lock_guard lock(mutex);
      stopping.store(true);
      begins.notify_all();
    }
    for (std::thread& helper : helpers) helper.join();
  }
};

ThreadPool::ThreadPool(int threads, Binding binding, int first_cpu, Caller caller)
    : state_(std::make_unique<State>()) {
  state_->threads = std::max(threads, 1);
  state_->caller = caller;
  const auto count = static_cast<std::size_t>(state_->threads);
  for (Job& job : state_->jobs) job.parts = std::vector<Part>(count);
  std::vector<int> cpus;
  if (binding == Binding::kOneCpuEach) cpus = allowed_cpus();
  const bool binds = first_cpu >= 0 && cpus.size() >= static_cast<std::size_t>(first_cpu) + count;
  const std::size_t first_part = caller == Caller::kIsAThread ? 1 : 0;
  try {
    for (std::size_t part = first_part; part < count; ++part) {
      const int cpu = binds ? cpus[static_cast<std::size_t>(first_cpu) + part] : kNoCpu;
      state_->helpers.emplace_back([state = state_.get(), part, cpu] {
        if (cpu != kNoCpu && bind_thread_to(cpu)) state->bound.fetch_add(1);
        state->ready.fetch_add(1);
        state->work(part);
      });
    }
  } catch (...) {  // the system has no room for so many threads
    state_->end_helpers();
    throw;
  }
  while (state_->ready.load() < static_cast<int>(state_->helpers.size())) std::this_thread::yield();
}

ThreadPool::~ThreadPool() {
  wait_idle();
  state_->end_helpers();
}

int ThreadPool::threads() const {
  return state_->threads;
}

Caller ThreadPool::caller() const {
  return state_->caller;
}

int ThreadPool::bound_threads() const {
  return state_->bound.load();
}

void ThreadPool::parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  if (n == 0) return wait_idle();
  const bool takes_part = state_->caller == Caller::kIsAThread;
  if (takes_part && (state_->threads == 1 || n <= grain)) return body(0, n);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&](std::size_t begin, std::size_t end) noexcept {
    try {
      body(begin, end);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  const std::uint64_t number = state_->begin(n, grain, std::cref(guarded));
  const auto has_ended = [&] { return state_->ended.load() >= number; };
  if (takes_part) {
    if (state_->job(number).take_pieces_from(0)) state_->end_jobs();
    for (int spin = 0; spin < kSpins && !has_ended(); ++spin) _mm_pause();
  }
  state_->wait_until(has_ended);
  if (failure) std::rethrow_exception(failure);
}

std::uint64_t ThreadPool::begin(std::size_t n, std::size_t grain, Body body) {
  if (state_->caller != Caller::kGivesJobs) {
    throw std::logic_error("ThreadPool::begin: nobody would do the caller's part");
  }
  return state_->begin(n, grain, std::move(body));
}

void ThreadPool::when_ended(std::function<void()> done) {
  state_->when_ended(std::move(done));
}

void ThreadPool::wait_for(std::uint64_t number) {
  state_->wait_until([&] { return state_->ended.load() >= number; });
}

void ThreadPool::wait_idle() {
  wait_for(state_->begun.load());
}

bool ThreadPool::idle() const {
  return state_->ended.load() == state_->begun.load();
}

}  // namespace elixir::kernels
