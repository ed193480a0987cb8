// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/units.h"
#include "report/screen/table.h"

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

std::string difference(double predicted, double measured) {
  if (predicted == measured) return "exact";
  if (predicted == 0) return "-";
  return fmt::format("{:+.1f} %", (measured / predicted - 1) * 100);
}

Json integer_of(const std::optional<double>& ns) {
  return ns ? Json(std::llround(*ns)) : Json();
}

}  // namespace

StepFigures predicted_by(const plan::Plan& plan) {
  StepFigures figures;
  figures.step_ns = static_cast<double>(plan.predicted.step_ns);
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    const auto name = schedule::name_of(static_cast<schedule::Stream>(i));
    for (const plan::StreamTime& stream : plan.predicted.streams) {
      if (stream.stream == name) {
        figures.busy_ns[static_cast<std::size_t>(i)] = static_cast<double>(stream.busy_ns);
      }
    }
  }
  figures.peak_device_bytes = plan.predicted.peak_allocated_bytes;
  figures.host_bytes = plan.predicted.host_bytes;
  figures.traffic = plan.predicted.traffic;
  return figures;
}

StepFigures predicted_by(const schedule::Simulation& simulation) {
  StepFigures figures;
  figures.step_ns = simulation.step_ns;
  for (std::size_t i = 0; i < simulation.busy_ns.size(); ++i) {
    figures.busy_ns[i] = simulation.busy_ns[i];
  }
  figures.peak_device_bytes = simulation.device.bytes;
  figures.host_bytes = simulation.host_bytes;
  figures.traffic = simulation.traffic;
  return figures;
}

void Measurements::add(const runtime::StepReport& report) {
  step_ns_.push_back(report.step_ns);
  for (std::size_t i = 0; i < busy_ns_.size(); ++i) busy_ns_[i].push_back(report.busy_ns[i]);
  peak_device_bytes_ = std::max(peak_device_bytes_, report.memory.peak_device_bytes);
  host_bytes_ = std::max(host_bytes_, report.memory.host_bytes);
  traffic_ = report.traffic;
}

StepFigures Measurements::figures() const {
  StepFigures figures;
  figures.step_ns = median(warmed_up(step_ns_));
  for (std::size_t i = 0; i < busy_ns_.size(); ++i) {
    figures.busy_ns[i] = median(warmed_up(busy_ns_[i]));
  }
  figures.peak_device_bytes = peak_device_bytes_;
  figures.host_bytes = host_bytes_;
  figures.traffic = traffic_;
  return figures;
}

Comparison compare(const StepFigures& predicted,
                   const StepFigures& measured,
                   runtime::DeviceKind device) {
  Comparison comparison{predicted, measured, {}};
  if (predicted.step_ns > 0) {
    const double share = measured.step_ns / predicted.step_ns - 1;
    if (std::abs(share) > kPromisedStepTimeShare) {
      comparison.broken.push_back(fmt::format(
          "the step took {} instead of the predicted {} ({:+.0f} %; promised within {:.0f} %)",
          format_ns(measured.step_ns),
          format_ns(predicted.step_ns),
          share * 100,
          kPromisedStepTimeShare * 100));
    }
  }
  if (device == runtime::DeviceKind::kCpu &&
      measured.peak_device_bytes != predicted.peak_device_bytes) {
    comparison.broken.push_back(fmt::format(
        "the device peak was {} bytes instead of the predicted {} ({:+} bytes; promised "
        "exact)",
        format_count(measured.peak_device_bytes),
        format_count(predicted.peak_device_bytes),
        measured.peak_device_bytes - predicted.peak_device_bytes));
  }
  return comparison;
}

std::string table_of(const Comparison& comparison) {
  const StepFigures& predicted = comparison.predicted;
  const StepFigures& measured = comparison.measured;
  report::Table table({{"a step", "", report::Align::kLeft},
                       {"predicted", "", report::Align::kRight},
                       {"measured", "", report::Align::kRight},
                       {"difference", "", report::Align::kRight}});
  const auto time =
      [&](const std::string& name, const std::optional<double>& expected, double seen) {
        table.row({name,
                   expected ? format_ns(*expected) : "-",
                   format_ns(seen),
                   expected ? difference(*expected, seen) : "-"});
      };
  const auto bytes = [&](const std::string& name, std::int64_t expected, std::int64_t seen) {
    table.row({name,
               format_bytes(expected),
               format_bytes(seen),
               difference(static_cast<double>(expected), static_cast<double>(seen))});
  };
  const auto count = [&](const std::string& name, std::int64_t expected, std::int64_t seen) {
    table.row({name,
               format_count(expected),
               format_count(seen),
               difference(static_cast<double>(expected), static_cast<double>(seen))});
  };
  time("step time", predicted.step_ns, measured.step_ns);
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double seen = measured.busy_ns[at].value_or(0);
    if (seen == 0 && predicted.busy_ns[at].value_or(0) == 0) continue;
    time(fmt::format("  {} busy", schedule::name_of(static_cast<schedule::Stream>(i))),
         predicted.busy_ns[at],
         seen);
  }
  bytes("device peak", predicted.peak_device_bytes, measured.peak_device_bytes);
  bytes("host memory", predicted.host_bytes, measured.host_bytes);
  count("chunks fetched", predicted.traffic.fetches, measured.traffic.fetches);
  count("chunks evicted", predicted.traffic.evictions, measured.traffic.evictions);
  bytes("host to device",
        predicted.traffic.host_to_device_bytes,
        measured.traffic.host_to_device_bytes);
  bytes("device to host",
        predicted.traffic.device_to_host_bytes,
        measured.traffic.device_to_host_bytes);
  return table.text();
}

Json to_json(const StepFigures& figures) {
  Json json = Json::object();
  json["step_ns"] = std::llround(figures.step_ns);
  json["streams"] = Json::array();
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    json["streams"].push_back(
        {{"stream", schedule::name_of(static_cast<schedule::Stream>(i))},
         {"busy_ns", integer_of(figures.busy_ns[static_cast<std::size_t>(i)])}});
  }
  json["peak_device_bytes"] = figures.peak_device_bytes;
  json["host_bytes"] = figures.host_bytes;
  json["traffic"] = {{"host_to_device_bytes", figures.traffic.host_to_device_bytes},
                     {"device_to_host_bytes", figures.traffic.device_to_host_bytes},
                     {"fetches", figures.traffic.fetches},
                     {"evictions", figures.traffic.evictions}};
  return json;
}

}  // namespace elixir::tools
