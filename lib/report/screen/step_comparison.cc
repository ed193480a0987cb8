// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/step_comparison.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "report/screen/critical_path_text.h"
#include "report/terminal/table.h"

namespace elixir::report {
namespace {

/// Share of the step below which the difference of a time is not shown in percent.
constexpr double kNoticeableShare = 0.01;

bool all_measured(const StepFigures& predicted) {
  return predicted.operators_total > 0 && predicted.operators_measured == predicted.operators_total;
}

/// "exact", "+4.2 %", "3.4 times". From a factor of two on, a percentage is hard to read.
std::string ratio(double predicted, double measured) {
  constexpr double kTimes = 2.0;
  if (predicted == measured) return "exact";
  if (predicted <= 0) return "-";
  if (measured >= kTimes * predicted) return fmt::format("{:.1f} times", measured / predicted);
  return fmt::format("{:+.1f} %", (measured / predicted - 1) * 100);
}

/// Same for a time. If the difference is short compared with the step, shows the time instead.
std::string time_difference(double predicted, double measured, double step_ns) {
  const double by = measured - predicted;
  if (by != 0 && std::abs(by) < kNoticeableShare * step_ns) {
    return (by > 0 ? "+" : "") + format_ns(by);
  }
  return ratio(predicted, measured);
}

/// Why the step's time is not promised; empty where it is.
std::string doubt(const StepFigures& predicted) {
  if (!all_measured(predicted)) {
    return fmt::format("{} of {} operator calls are modelled, not measured",
                       format_count(predicted.operators_total - predicted.operators_measured),
                       format_count(predicted.operators_total));
  }
  if (!predicted.disturbed.empty()) {
    return fmt::format("other programs disturbed the measurements behind it ({})",
                       fmt::join(predicted.disturbed, ", "));
  }
  if (predicted.spread > kPromisedStepTimeShare) {
    return fmt::format("the figures behind it spread by {:.0f} %", predicted.spread * 100);
  }
  return "";
}

std::string promise(const StepFigures& predicted, bool counted) {
  const std::string why = doubt(predicted);
  if (why.empty()) {
    return fmt::format("the step's time within {:.0f} %{}",
                       kPromisedStepTimeShare * 100,
                       counted ? ", the device peak to the byte" : "");
  }
  if (!counted) return fmt::format("nothing: {}", why);
  return fmt::format("the device peak {}; not the step's time: {}",
                     all_measured(predicted) ? "to the byte" : "as an upper bound",
                     why);
}

/// Empty where busy times and step time are of the same steps.
std::string timed_steps(const StepFigures& measured) {
  if (!measured.timed) return "";
  return measured.timed->count == 1
             ? fmt::format("busy times are from one step, which took {}\n",
                           format_ns(measured.timed->step_ns))
             : fmt::format("busy times are medians of {} steps, which took {} (median)\n",
                           measured.timed->count,
                           format_ns(measured.timed->step_ns));
}

/// Empty where none was measured.
std::string critical_paths(const StepComparison& comparison) {
  const auto& [predicted, measured, promised, broken] = comparison;
  if (!measured.critical_path) return "";
  std::string text = "critical path, measured: " + shares_of(*measured.critical_path) + "\n";
  if (predicted.critical_path) {
    text += "critical path, predicted: " + shares_of(*predicted.critical_path) + "\n";
  }
  return text;
}

/// "began later than they could, in sum: host-to-device 266 ms": streams whose tasks lost a
/// noticeable time, in sum. Empty where none did.
std::string late_streams(const StepFigures& measured) {
  if (!measured.late_ns) return "";
  std::vector<std::string> texts;
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    const double late_ns = (*measured.late_ns)[static_cast<std::size_t>(i)];
    if (late_ns < kNoticeableShare * measured.step_ns || late_ns <= 0) continue;
    texts.push_back(
        fmt::format("{} {}",
                    name_for_people(schedule::name_of(static_cast<schedule::Stream>(i))),
                    format_ns(late_ns)));
  }
  if (texts.empty()) return "";
  return fmt::format("began later than they could, in sum: {}\n", fmt::join(texts, ", "));
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
  figures.critical_path = critical_path_of(plan.predicted);
  figures.peak_device_bytes = plan.predicted.peak_allocated_bytes;
  figures.host_bytes = plan.predicted.host_bytes;
  figures.traffic = plan.predicted.traffic;
  figures.operators_measured = plan.predicted.operators_measured;
  figures.operators_total = plan.predicted.operators_total;
  figures.spread = plan.predicted.spread;
  figures.disturbed = plan.predicted.disturbed;
  return figures;
}

StepFigures predicted_by(const schedule::Simulation& simulation,
                         const schedule::Schedule& schedule) {
  StepFigures figures;
  figures.step_ns = simulation.step_ns;
  for (std::size_t i = 0; i < simulation.busy_ns.size(); ++i) {
    figures.busy_ns[i] = simulation.busy_ns[i];
  }
  figures.critical_path = schedule::critical_path(schedule, simulation.tasks, simulation.step_ns);
  figures.peak_device_bytes = simulation.device.bytes;
  figures.host_bytes = simulation.host_bytes;
  figures.traffic = simulation.traffic;
  figures.operators_measured = simulation.operators_measured;
  figures.operators_total = simulation.operators_total;
  return figures;
}

StepComparison compare_steps(const StepFigures& predicted,
                             const StepFigures& measured,
                             bool counted) {
  StepComparison comparison{predicted, measured, promise(predicted, counted), {}};
  const bool exact = all_measured(predicted);
  if (doubt(predicted).empty() && predicted.step_ns > 0) {
    const double share = measured.step_ns / predicted.step_ns - 1;
    if (std::abs(share) > kPromisedStepTimeShare) {
      comparison.broken.push_back(
          fmt::format("the step took {} instead of the predicted {} ({}; promised within {:.0f} %)",
                      format_ns(measured.step_ns),
                      format_ns(predicted.step_ns),
                      ratio(predicted.step_ns, measured.step_ns),
                      kPromisedStepTimeShare * 100));
    }
  }
  const std::int64_t over = measured.peak_device_bytes - predicted.peak_device_bytes;
  if (counted && (over > 0 || (exact && over < 0))) {
    comparison.broken.push_back(
        fmt::format("the device peak was {} bytes instead of the predicted {} ({}{} bytes; "
                    "promised {})",
                    format_count(measured.peak_device_bytes),
                    format_count(predicted.peak_device_bytes),
                    over > 0 ? "+" : "",
                    format_count(over),
                    exact ? "to the byte" : "as an upper bound"));
  }
  return comparison;
}

std::string table_of(const StepComparison& comparison) {
  const StepFigures& predicted = comparison.predicted;
  const StepFigures& measured = comparison.measured;
  Table table(
      {{"a step", "", Align::kLeft}, {"predicted", ""}, {"measured", ""}, {"difference", ""}});
  const auto time =
      [&](const std::string& name, const std::optional<double>& expected, double seen) {
        table.row({name,
                   expected ? format_ns(*expected) : "-",
                   format_ns(seen),
                   expected ? time_difference(*expected, seen, measured.step_ns) : "-"});
      };
  const auto bytes = [&](const std::string& name, std::int64_t expected, std::int64_t seen) {
    table.row({name,
               format_bytes(expected),
               format_bytes(seen),
               ratio(static_cast<double>(expected), static_cast<double>(seen))});
  };
  const auto count = [&](const std::string& name, std::int64_t expected, std::int64_t seen) {
    table.row({name,
               format_count(expected),
               format_count(seen),
               ratio(static_cast<double>(expected), static_cast<double>(seen))});
  };
  time("step time", predicted.step_ns, measured.step_ns);
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double seen = measured.busy_ns[at].value_or(0);
    if (seen == 0 && predicted.busy_ns[at].value_or(0) == 0) continue;
    time(fmt::format("  {} busy",
                     name_for_people(schedule::name_of(static_cast<schedule::Stream>(i)))),
         predicted.busy_ns[at],
         seen);
  }
  bytes("device peak", predicted.peak_device_bytes, measured.peak_device_bytes);
  if (predicted.gpu_memory_bytes && measured.gpu_memory_bytes) {
    bytes("GPU memory", *predicted.gpu_memory_bytes, *measured.gpu_memory_bytes);
  }
  bytes("host memory", predicted.host_bytes, measured.host_bytes);
  count("chunks fetched", predicted.traffic.fetches, measured.traffic.fetches);
  count("chunks evicted", predicted.traffic.evictions, measured.traffic.evictions);
  bytes("host to device",
        predicted.traffic.host_to_device_bytes,
        measured.traffic.host_to_device_bytes);
  bytes("device to host",
        predicted.traffic.device_to_host_bytes,
        measured.traffic.device_to_host_bytes);
  return table.text() + timed_steps(measured) + critical_paths(comparison) +
         late_streams(measured) + fmt::format("promised: {}\n", comparison.promised);
}

}  // namespace elixir::report
