// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures what it costs that a job of AdamW on the cores waits for the last thread of the job
// before: the same parameters in jobs as large as chunks, one after another and overlapping, and in
// one job; alone and beside threads that are busy with something else. A training has such threads,
// which issue the GPU's work.
//
// usage: job_benchmark [--parameters MILLION] [--jobs N] [--busy N] [--rounds N] [--json]   by
// default 64 million parameters in 16 jobs, 1 busy thread, 9 rounds; figures are medians
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/host.h"
#include "benchmarks/median.h"
#include "kernels/adam.h"
#include "kernels/host_arena.h"
#include "kernels/isa.h"
#include "kernels/thread_pool.h"

namespace elixir::benchmarks {
namespace {

struct Options {
  long million_parameters = 64, jobs = 16, busy = 1, rounds = 9;
  bool json = false;
};

/// AdamW over fp32 zeros.
class Parameters {
 public:
  Parameters(std::size_t count, kernels::ThreadPool& pool)
      : count_(count), arena_(kArrays * count * sizeof(float), &pool) {}

  /// Parameters a second, in so many jobs. They overlap if the pool's caller gives jobs.
  double pass(std::size_t jobs, kernels::ThreadPool& pool) {
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, ++step_, 1, 1.0F);
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t job = 0; job < jobs; ++job) {
      const std::size_t begin = count_ * job / jobs, end = count_ * (job + 1) / jobs;
      kernels::AdamArrays arrays{};
      arrays.n = end - begin;
      arrays.gradient_type = arrays.parameter_type = arrays.moment_type =
          kernels::Element::kFloat32;
      arrays.gradient = array(0) + begin;
      arrays.moment1 = array(1) + begin;
      arrays.moment2 = array(2) + begin;
      arrays.master = array(3) + begin;
      if (pool.caller() == kernels::Caller::kGivesJobs) {
        kernels::begin_adam_cpu(arrays, scalars, kernels::best_isa(), pool);
      } else {
        kernels::adam_cpu(arrays, scalars, kernels::best_isa(), pool);
      }
    }
    pool.wait_idle();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return static_cast<double>(count_) / elapsed.count();
  }

 private:
  static constexpr std::size_t kArrays = 4;
  [[nodiscard]] float* array(std::size_t i) const {
    return reinterpret_cast<float*>(arena_.data()) + i * count_;
  }

  std::size_t count_;
  kernels::HostArena arena_;
  std::int64_t step_ = 0;
};

class BusyThreads {
 public:
  explicit BusyThreads(long count) {
    for (long i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!stopping_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyThreads() {
    stopping_.store(true);
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

 private:
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

int benchmark(const Options& options) {
  const int threads = cpu_count();
  kernels::ThreadPool one_by_one(threads, kernels::Binding::kOneCpuEach);
  kernels::ThreadPool overlap(
      threads, kernels::Binding::kOneCpuEach, /*first_cpu=*/0, kernels::Caller::kGivesJobs);
  constexpr std::size_t kMillion = 1'000'000;
  Parameters parameters(static_cast<std::size_t>(options.million_parameters) * kMillion,
                        one_by_one);
  nlohmann::json report = {{"parameters", options.million_parameters * static_cast<long>(kMillion)},
                           {"threads", threads},
                           {"rounds", options.rounds},
                           {"rows", nlohmann::json::array()}};
  for (const long busy : {0L, options.busy}) {
    const BusyThreads beside(busy);
    const auto jobs = static_cast<std::size_t>(options.jobs);
    std::vector<double> in_jobs, overlapping, at_once;
    for (long round = 0; round < options.rounds; ++round) {
      in_jobs.push_back(parameters.pass(jobs, one_by_one));
      overlapping.push_back(parameters.pass(jobs, overlap));
      at_once.push_back(parameters.pass(1, one_by_one));
    }
    const double ratio = median(overlapping) / median(in_jobs);
    report["rows"].push_back({{"busy_threads", busy},
                              {"jobs", options.jobs},
                              {"params_per_s_in_jobs", median(in_jobs)},
                              {"params_per_s_overlapping", median(overlapping)},
                              {"params_per_s_in_one", median(at_once)},
                              {"ratio", ratio}});
    if (options.json) continue;
    fmt::print(
        "{} threads, {} busy ones beside, {} jobs: {:.2f} G/s one after another, {:.2f} G/s "
        "overlapping "
        "({:.2f} times), {:.2f} G/s in one job\n",
        threads,
        busy,
        options.jobs,
        median(in_jobs) / 1e9,
        median(overlapping) / 1e9,
        ratio,
        median(at_once) / 1e9);
  }
  if (options.json) std::cout << report.dump(2) << '\n';
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run(
      {.name = "job_benchmark",
       .usage = "[--parameters MILLION] [--jobs N] [--busy N] [--rounds N] [--json]",
       .numbers = {{"--parameters", &options.million_parameters},
                   {"--jobs", &options.jobs},
                   {"--busy", &options.busy},
                   {"--rounds", &options.rounds}},
       .json = &options.json},
      argc,
      argv,
      [&] { return elixir::benchmarks::benchmark(options); });
}
