// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares AdamW in every form with the same memory accesses without arithmetic, with a copy, and
// with torch's fused AdamW, in one run. Cases alternate, so that all see the same state of the
// machine. Results are checked before anything is timed. Figures are medians over the rounds;
// quartiles show the spread.
//
// usage: adam_benchmark [--device cpu|cuda|all] [--threads N] [--parameters MI] [--rounds N]
//   [--json]
// --parameters: in units of 2^20; 256 on the CPU, 512 on the GPU, fewer where memory is short
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "adam_cases.h"
#include "benchmarks/arguments.h"
#include "benchmarks/host.h"

namespace elixir::benchmarks {
namespace {

constexpr int kWarmUpRounds = 2;
constexpr std::size_t kMi = std::size_t{1} << 20;
constexpr std::size_t kCpuMi = 256, kGpuMi = 512;

struct Options {
  std::string device = "all";
  long threads = cpu_count();
  long mi = 0;  ///< 0: the device's default
  long rounds = 15;
  bool json = false;
};

struct Timing {
  double first_quartile_s = 0, median_s = 0, third_quartile_s = 0;
};

Timing summarise(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    return seconds[static_cast<std::size_t>(
        std::lround(part * static_cast<double>(seconds.size() - 1)))];
  };
  return {at(0.25), at(0.5), at(0.75)};
}

nlohmann::json run(Suite& suite, std::size_t parameters, const Options& options) {
  const std::vector<std::string> checks = suite.check();
  const std::vector<Case> cases = suite.cases();
  std::vector<std::vector<double>> seconds(cases.size());
  for (int round = 0; round < kWarmUpRounds + options.rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const double pass_s = cases[i].timed_pass_s();
      if (round >= kWarmUpRounds) seconds[i].push_back(pass_s);
    }
  }
  nlohmann::json report = {{"device", suite.description()},
                           {"parameters", parameters},
                           {"rounds", options.rounds},
                           {"checked", checks},
                           {"cases", nlohmann::json::array()},
                           {"ratios", nlohmann::json::array()}};
  std::map<std::string, const nlohmann::json*> by_name;
  const auto n = static_cast<double>(parameters);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Timing timing = summarise(seconds[i]);
    report["cases"].push_back(
        {{"name", cases[i].name},
         {"bytes_per_parameter", cases[i].bytes_per_parameter},
         {"first_quartile_s", timing.first_quartile_s},
         {"median_s", timing.median_s},
         {"third_quartile_s", timing.third_quartile_s},
         {"params_per_s", n / timing.median_s},
         {"bytes_per_s", cases[i].bytes_per_parameter * n / timing.median_s}});
  }
  for (const nlohmann::json& one : report["cases"]) by_name[one["name"]] = &one;
  for (const Ratio& ratio : suite.ratios()) {
    const char* rate = ratio.of_bytes ? "bytes_per_s" : "params_per_s";
    const double over = by_name.at(ratio.over)->at(rate);
    const double under = by_name.at(ratio.under)->at(rate);
    report["ratios"].push_back({{"name", ratio.name}, {"value", over / under}});
  }
  return report;
}

void print(const nlohmann::json& report) {
  fmt::print("{}; {} Mi parameters, median of {} rounds (quartiles)\n",
             report["device"].get<std::string>(),
             report["parameters"].get<std::size_t>() / kMi,
             report["rounds"].get<int>());
  for (const nlohmann::json& check : report["checked"]) {
    fmt::print("  checked: {}\n", check.get<std::string>());
  }
  for (const nlohmann::json& one : report["cases"]) {
    fmt::print("  {:<32} {:9.3f} Gparam/s {:8.1f} GB/s  {:8.2f} ms ({:.2f}-{:.2f})\n",
               one["name"].get<std::string>(),
               one["params_per_s"].get<double>() * 1e-9,
               one["bytes_per_s"].get<double>() * 1e-9,
               one["median_s"].get<double>() * 1e3,
               one["first_quartile_s"].get<double>() * 1e3,
               one["third_quartile_s"].get<double>() * 1e3);
  }
  for (const nlohmann::json& ratio : report["ratios"]) {
    fmt::print(
        "  {:<32} {:9.3f}\n", ratio["name"].get<std::string>(), ratio["value"].get<double>());
  }
}

/// The number of parameters, in units of 2^20, that uses at most half of the free memory. Prints a
/// note when it is lower than wanted.
std::size_t fitting_mi(std::size_t wanted, std::size_t free_bytes, const char* device) {
  const std::size_t most = std::max<std::size_t>(1, free_bytes / 2 / kSuiteBytesPerParameter / kMi);
  if (most >= wanted) return wanted;
  fmt::print(stderr,
             "adam_benchmark: memory of the {} is short, {} Mi parameters instead of {}\n",
             device,
             most,
             wanted);
  return most;
}

std::size_t wanted_mi(const Options& options, std::size_t otherwise) {
  return options.mi == 0 ? otherwise : static_cast<std::size_t>(options.mi);
}

int benchmark(const Options& options) {
  nlohmann::json reports = nlohmann::json::array();
  const auto done = [&](nlohmann::json report) {
    if (!options.json) print(report);
    reports.push_back(std::move(report));
  };
  if (options.device != "cuda") {
    const std::size_t mi = fitting_mi(wanted_mi(options, kCpuMi), free_memory_bytes(), "host");
    const auto suite = make_cpu_suite(mi * kMi, static_cast<int>(options.threads));
    done(run(*suite, mi * kMi, options));
  }
  if (options.device != "cpu") {
    std::size_t mi = wanted_mi(options, kGpuMi);
    if (const std::size_t free_bytes = free_cuda_bytes(); free_bytes > 0) {
      mi = fitting_mi(mi, free_bytes, "GPU");
    }
    const std::size_t n = mi * kMi;
    std::string reason;
    if (const auto suite = make_cuda_suite(n, reason)) {
      done(run(*suite, n, options));
    } else {
      fmt::print(stderr, "adam_benchmark: CUDA waived, because {}\n", reason);
      if (options.device == "cuda") return 3;
    }
  }
  if (options.json) std::cout << reports.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run(
      {.name = "adam_benchmark",
       .usage = "[--device cpu|cuda|all] [--threads N] [--parameters MI] [--rounds N] [--json]",
       .numbers = {{"--threads", &options.threads},
                   {"--parameters", &options.mi},
                   {"--rounds", &options.rounds}},
       .choices = {{"--device", {&options.device, {"cpu", "cuda", "all"}}}},
       .json = &options.json},
      argc,
      argv,
      [&] { return elixir::benchmarks::benchmark(options); });
}
