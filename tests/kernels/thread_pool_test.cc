// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/thread_pool.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu_affinity.h"
#include "kernels/time_slice.h"

namespace elixir::kernels {
namespace {

TEST(ThreadPool, CoversEveryElementOnceInPartsThatEndOnTheGrain) {
  for (const int threads : {1, 2, 3, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t n : {0U, 1U, 7U, 64U, 65U, 1000U, 4097U}) {
      std::vector<std::atomic<int>> seen(n);
      pool.parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin % 64, 0U);
        EXPECT_TRUE(end == n || end % 64 == 0);
        for (std::size_t i = begin; i < end; ++i) seen[i].fetch_add(1);
      });
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(seen[i].load(), 1) << i << " of " << n;
    }
  }
}

TEST(ThreadPool, EveryThreadBeginsWithItsOwnPart) {
  constexpr int kThreads = 3;
  ThreadPool pool(kThreads);
  std::map<std::size_t, std::thread::id> owner;
  for (int round = 0; round < 200; ++round) {
    std::map<std::thread::id, std::size_t> first;
    std::mutex mutex;
    std::barrier all_have_begun(kThreads);
    pool.parallel_for(30, 1, [&](std::size_t begin, std::size_t) {
      const bool begins = [&] {
        const std::lock_guard lock(mutex);
        return first.emplace(std::this_thread::get_id(), begin).second;
      }();
      if (begins) all_have_begun.arrive_and_wait();
    });
    for (const auto& [thread, begin] : first) {
      EXPECT_EQ(owner.emplace(begin, thread).first->second, thread);
    }
  }
  EXPECT_EQ(owner.size(), 3U);
  EXPECT_TRUE(owner.contains(0) && owner.contains(10) && owner.contains(20));
}

/// It could wait for ever if somebody else waited for its part.
TEST(ThreadPool, TheOthersDoWhatAThreadThatIsHeldUpDoesNot) {
  ThreadPool pool(3);
  for (const std::size_t held_up : {0U, 10U, 20U}) {
    std::atomic<std::size_t> done{0};
    pool.parallel_for(30, 1, [&](std::size_t begin, std::size_t end) {
      if (begin == held_up) {
        while (done.load() + (end - begin) < 30) std::this_thread::yield();
      }
      done += end - begin;
    });
    EXPECT_EQ(done.load(), 30U);
  }
}

TEST(ThreadPool, BindsHelpersToDifferentAllowedCpusAndLeavesTheCallerAlone) {
  const std::vector<int> allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  const int threads = static_cast<int>(allowed.size());
  ThreadPool pool(threads, Binding::kOneCpuEach);
  EXPECT_EQ(pool.bound_threads(), threads - 1);
  std::map<std::size_t, std::vector<int>> cpus;  // by part
  std::mutex mutex;
  std::barrier all_have_begun(threads);  // so that nobody takes over another's part
  pool.parallel_for(allowed.size(), 1, [&](std::size_t begin, std::size_t) {
    all_have_begun.arrive_and_wait();
    const std::vector<int> own = allowed_cpus();
    const std::lock_guard lock(mutex);
    cpus[begin] = own;
  });
  EXPECT_EQ(cpus.at(0), allowed) << "the caller";
  for (std::size_t part = 1; part < allowed.size(); ++part) {
    EXPECT_EQ(cpus.at(part), std::vector<int>{allowed[part]});
  }
  ThreadPool crowded(threads + 1, Binding::kOneCpuEach);
  EXPECT_EQ(crowded.bound_threads(), 0) << "two threads on one CPU would wait for each other";
}

/// As the ranks of a machine do.
TEST(ThreadPool, PoolsThatBeginAtDifferentCpusShareNone) {
  const std::vector<int> allowed = allowed_cpus();
  const int pools = static_cast<int>(allowed.size()) / 2;
  std::vector<int> taken;
  for (int p = 0; p < pools; ++p) {
    ThreadPool pool(2, Binding::kOneCpuEach, 2 * p);
    EXPECT_EQ(pool.bound_threads(), 1);
    std::barrier both_have_begun(2);
    const std::thread::id caller = std::this_thread::get_id();
    pool.parallel_for(2, 1, [&](std::size_t, std::size_t) {
      both_have_begun.arrive_and_wait();
      if (std::this_thread::get_id() != caller) taken.push_back(allowed_cpus().at(0));
    });
    EXPECT_EQ(taken.back(), allowed[static_cast<std::size_t>(2 * p) + 1]);
  }
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(pools));
  ThreadPool beyond(2, Binding::kOneCpuEach, static_cast<int>(allowed.size()) - 1);
  EXPECT_EQ(beyond.bound_threads(), 0);
}

TEST(CpuAffinity, AdamLeavesTheFirstCpuOfARankThatHasEight) {
  const auto of = [](int first, int count) {
    const CpuRange cpus = adam_cpus({first, count});
    return std::pair(cpus.first, cpus.count);
  };
  EXPECT_EQ(of(0, 16), std::pair(1, 15));
  EXPECT_EQ(of(48, 16), std::pair(49, 15));
  EXPECT_EQ(of(8, 8), std::pair(9, 7));
  EXPECT_EQ(of(7, 7), std::pair(7, 7));
  EXPECT_EQ(of(3, 1), std::pair(3, 1));
}

TEST(CpuAffinity, UsesNoCpuOutsideTheMaskOfTheThread) {
  const std::vector<int> allowed = allowed_cpus();
  std::thread([&] {
    ASSERT_TRUE(bind_thread_to(allowed.back()));
    EXPECT_EQ(allowed_cpus(), std::vector<int>{allowed.back()});
    ThreadPool pool(1, Binding::kOneCpuEach);
    EXPECT_EQ(pool.bound_threads(), 0);
  }).join();
  EXPECT_FALSE(bind_thread_to(-1));
  EXPECT_FALSE(bind_thread_to(1 << 20));
}

TEST(CpuAffinity, ReadsTheListsOfTheSystem) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
  EXPECT_EQ(parse_cpu_list("1-2,x"), (std::vector<int>{1, 2}));
  EXPECT_EQ(parse_cpu_list("3-1"), std::vector<int>{});
  EXPECT_EQ(parse_cpu_list("0-99999999"), std::vector<int>{}) << "no list is that long";
  EXPECT_EQ(parse_cpu_list("x,5,-2"), std::vector<int>{5});
}

TEST(ThreadPool, PassesExceptionsOnAndWorksAfterwards) {
  ThreadPool pool(2);
  const auto failing = [](std::size_t begin, std::size_t) {
    if (begin > 0) throw std::runtime_error("part failed");
  };
  EXPECT_THROW(pool.parallel_for(10, 1, failing), std::runtime_error);
  std::atomic<std::size_t> count{0};
  pool.parallel_for(10, 1, [&](std::size_t begin, std::size_t end) { count += end - begin; });
  EXPECT_EQ(count.load(), 10U);
}

TEST(ThreadPool, WakesUpAfterSleeping) {
  ThreadPool pool(2);
  std::atomic<std::size_t> count{0};
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.parallel_for(100, 1, [&](std::size_t begin, std::size_t end) { count += end - begin; });
  }
  EXPECT_EQ(count.load(), 300U);
}

/// A pool whose caller gives jobs.
struct JobPool : ThreadPool {
  explicit JobPool(int threads) : ThreadPool(threads, Binding::kNone, 0, Caller::kGivesJobs) {}
};

TEST(ThreadPool, JobsCoverEveryElementOnceAndEndInOrder) {
  for (const int threads : {1, 2, 3}) {
    constexpr std::size_t kJobs = 200;
    std::vector<std::vector<std::atomic<int>>> seen;
    for (std::size_t job = 0; job < kJobs; ++job) seen.emplace_back(job % 5 * 100);
    std::vector<std::size_t> ended;  // not locked: the pool calls one after another
    {
      JobPool pool(threads);
      std::uint64_t last = 0;
      for (std::size_t job = 0; job < kJobs; ++job) {
        std::vector<std::atomic<int>>& mine = seen[job];
        const std::uint64_t number =
            pool.begin(mine.size(), 8, [&mine](std::size_t begin, std::size_t end) {
              for (std::size_t i = begin; i < end; ++i) mine[i].fetch_add(1);
            });
        pool.when_ended([&, job] {
          for (const auto& times : seen[job]) EXPECT_EQ(times.load(), 1);
          ended.push_back(job);
        });
        if (mine.empty()) continue;
        EXPECT_EQ(number, last + 1);
        last = number;
        if (job == 21) {
          pool.wait_for(number - 10);
        } else if (job == 31) {
          pool.wait_idle();
          EXPECT_TRUE(pool.idle());
          EXPECT_EQ(ended.size(), job + 1);
        }
      }
    }
    ASSERT_EQ(ended.size(), kJobs) << "the pool waits for its jobs";
    for (std::size_t job = 0; job < kJobs; ++job) EXPECT_EQ(ended[job], job);
  }
}

/// It would wait for ever if the next jobs waited for its piece.
TEST(ThreadPool, TheNextJobsRunBesideTheLastPieceOfTheOneBefore) {
  JobPool pool(2);
  std::atomic<std::size_t> done{0};
  std::vector<int> ended;
  const auto count = [&](std::size_t begin, std::size_t end) { done += end - begin; };
  const auto ends = [&](int job) { pool.when_ended([&ended, job] { ended.push_back(job); }); };
  pool.begin(10, 1, [&](std::size_t begin, std::size_t) {
    if (begin == 0) {
      while (done.load() < 200) std::this_thread::yield();
    }
  });
  ends(1);
  pool.begin(100, 1, count);
  ends(2);
  pool.begin(100, 1, count);
  ends(3);
  pool.wait_idle();
  EXPECT_EQ(ended, (std::vector{1, 2, 3}))
      << "in order, although the first was the last one to finish";
}

TEST(ThreadPool, NoMoreJobsAreUnderWayThanThereArePlaces) {
  JobPool pool(2);
  std::promise<void> released;
  const std::shared_future<void> release = released.get_future().share();
  std::atomic<std::size_t> begun{0};
  std::thread caller([&] {
    for (std::size_t job = 0; job <= ThreadPool::kMostJobs; ++job) {
      pool.begin(1, 1, [release](std::size_t, std::size_t) { release.wait(); });
      begun.fetch_add(1);
    }
    pool.wait_idle();
  });
  while (begun.load() < ThreadPool::kMostJobs) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(begun.load(), ThreadPool::kMostJobs);
  released.set_value();
  caller.join();
  EXPECT_EQ(begun.load(), ThreadPool::kMostJobs + 1);
}

TEST(ThreadPool, WhatIsCalledWhenAllHasEndedIsCalledAtOnceIfNothingIsUnderWay) {
  for (const Caller caller : {Caller::kIsAThread, Caller::kGivesJobs}) {
    ThreadPool pool(2, Binding::kNone, 0, caller);
    int calls = 0;
    pool.when_ended([&] { ++calls; });
    EXPECT_EQ(calls, 1);
    pool.parallel_for(100, 1, [](std::size_t, std::size_t) {});
    pool.when_ended([&] { ++calls; });
    EXPECT_EQ(calls, 2);
  }
}

TEST(ThreadPool, APoolForJobsSharesARangeTooAndPassesExceptionsOn) {
  JobPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::size_t> count{0};
  pool.parallel_for(100, 1, [&](std::size_t begin, std::size_t end) {
    EXPECT_NE(std::this_thread::get_id(), caller);
    count += end - begin;
  });
  EXPECT_EQ(count.load(), 100U);
  EXPECT_THROW(
      pool.parallel_for(
          10, 1, [](std::size_t, std::size_t) { throw std::runtime_error("piece failed"); }),
      std::runtime_error);
  ThreadPool shared(2);
  EXPECT_THROW(shared.begin(10, 1, [](std::size_t, std::size_t) {}), std::logic_error);
}

TEST(ThreadPool, BindsEveryThreadOfAPoolForJobs) {
  const std::vector<int> allowed = allowed_cpus();
  const int threads = static_cast<int>(allowed.size());
  ThreadPool pool(threads, Binding::kOneCpuEach, 0, Caller::kGivesJobs);
  EXPECT_EQ(pool.bound_threads(), threads);
}

/// The calling thread's time slice; 0 on a system without them.
std::uint64_t time_slice_ns() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes{};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
  return attributes.runtime_ns;
}

TEST(TimeSlice, IsShorterAfterAskingAndNothingElseChanges) {
  std::thread([] {
    const std::uint64_t before_ns = time_slice_ns();
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3), 0);
    ask_for_short_time_slices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), 3);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    if (before_ns == 0) return;  // a system without slices that can be chosen
    EXPECT_LT(time_slice_ns(), before_ns);
    EXPECT_EQ(time_slice_ns(), 100'000U);
  }).join();
}

}  // namespace
}  // namespace elixir::kernels
