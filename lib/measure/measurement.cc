// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/measurement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "measure/machine/gpu_probe.h"

namespace elixir::measure {
namespace {

std::vector<Measurement>& registry() {
  static std::vector<Measurement> all;
  return all;
}

}  // namespace

Sampling Bench::sampling() const {
  return effort == Effort::kFull ? Sampling{2, 7, 50, 1.0} : Sampling{1, 5, 20, 0.15};
}

std::vector<int> Bench::gpus_at_once() const {
  std::vector<int> counts;
  for (int count = 2; count <= gpus; count *= 2) counts.push_back(count);
  return counts;
}

std::string text_of_threads(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

std::string Bench::threads_text() const {
  return text_of_threads(pool->threads());
}

const std::vector<Measurement>& measurements() {
  std::vector<Measurement>& all = registry();
  std::sort(all.begin(), all.end(), [](const Measurement& a, const Measurement& b) {
    return a.name < b.name;
  });
  return all;
}

Registration::Registration(Measurement measurement) {
  registry().push_back(std::move(measurement));
}

std::optional<std::string> never(const Bench& /*bench*/) {
  return std::nullopt;
}

std::optional<std::string> unless_cuda(const Bench& bench) {
  if (bench.on_cuda()) return std::nullopt;
  return gpu_unavailable().value_or("the measured device is the CPU");
}

}  // namespace elixir::measure
