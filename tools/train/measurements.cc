// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/measurements.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace elixir::tools {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<double> warmed_up(const std::vector<double>& values) {
  std::vector<double> rest = values;
  if (rest.size() > 1) rest.erase(rest.begin());
  return rest;
}

Json integer_of(const std::optional<double>& ns) {
  return ns ? Json(std::llround(*ns)) : Json();
}

}  // namespace

void Measurements::add(const runtime::StepReport& report) {
  step_ns_.push_back(report.step_ns);
  if (report.busy_ns) timed_step_ns_.push_back(report.step_ns);
  for (std::size_t i = 0; i < busy_ns_.size() && report.busy_ns; ++i) {
    busy_ns_[i].push_back((*report.busy_ns)[i]);
  }
  peak_device_bytes_ = std::max(peak_device_bytes_, report.memory.peak_device_bytes);
  host_bytes_ = std::max(host_bytes_, report.memory.host_bytes);
  gpu_memory_bytes_ = std::max(gpu_memory_bytes_, report.memory.used_gpu_bytes);
  traffic_ = report.traffic;
}

StepFigures Measurements::figures() const {
  StepFigures figures;
  figures.step_ns = median(warmed_up(step_ns_));
  for (std::size_t i = 0; i < busy_ns_.size(); ++i) {
    figures.busy_ns[i] = median(warmed_up(busy_ns_[i]));
  }
  if (!timed_step_ns_.empty() && timed_step_ns_.size() < step_ns_.size()) {
    const std::vector<double> timed = warmed_up(timed_step_ns_);
    figures.timed = {.count = std::ssize(timed), .step_ns = median(timed)};
  }
  figures.peak_device_bytes = peak_device_bytes_;
  figures.host_bytes = host_bytes_;
  figures.gpu_memory_bytes = gpu_memory_bytes_;
  figures.traffic = traffic_;
  return figures;
}

Json to_json(const StepFigures& figures) {
  Json json = Json::object();
  json["step_ns"] = std::llround(figures.step_ns);
  json["streams"] = Json::array();
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::optional<double> critical_ns;
    if (figures.critical_path) critical_ns = figures.critical_path->by_stream_ns[at];
    std::optional<double> late_ns;
    if (figures.late_ns) late_ns = (*figures.late_ns)[at];
    json["streams"].push_back({{"stream", schedule::name_of(static_cast<schedule::Stream>(i))},
                               {"busy_ns", integer_of(figures.busy_ns[at])},
                               {"critical_ns", integer_of(critical_ns)},
                               {"late_ns", integer_of(late_ns)}});
  }
  std::optional<double> idle_ns;
  if (figures.critical_path) idle_ns = figures.critical_path->idle_ns;
  json["critical_idle_ns"] = integer_of(idle_ns);
  json["peak_device_bytes"] = figures.peak_device_bytes;
  json["gpu_memory_bytes"] = value_or_null(figures.gpu_memory_bytes);
  json["host_bytes"] = figures.host_bytes;
  json["traffic"] = {{"host_to_device_bytes", figures.traffic.host_to_device_bytes},
                     {"device_to_host_bytes", figures.traffic.device_to_host_bytes},
                     {"fetches", figures.traffic.fetches},
                     {"evictions", figures.traffic.evictions}};
  return json;
}

}  // namespace elixir::tools
