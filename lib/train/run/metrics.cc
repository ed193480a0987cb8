// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/metrics.h"

#include <chrono>
#include <cmath>

namespace elixir::train {
namespace {

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::optional<double> tokens_per_s(const RunInputs& inputs, double step_ns) {
  const auto tokens = inputs.tokens_per_step();
  if (!tokens || step_ns <= 0) return std::nullopt;
  return static_cast<double>(*tokens) / (step_ns * 1e-9);
}

Json metrics_line(const StepRecord& record, const RunInputs& inputs) {
  const runtime::StepReport& report = record.report;
  Json line = Json::object();
  line["step"] = record.step;
  line["time_ns"] = wall_clock_ns();
  line["loss"] = report.loss;
  line["learning_rate"] = report.learning_rate;
  line["grad_norm"] = value_or_null(report.gradient_norm);
  line["loss_scale"] = value_or_null(report.loss_scale);
  line["skipped"] = report.skipped;
  line["step_time_ns"] = std::llround(report.step_ns);
  line["tokens_per_s"] = value_or_null(tokens_per_s(inputs, report.step_ns));
  line["model_flop_per_s"] =
      report.step_ns > 0 ? Json(inputs.flops_per_step / (report.step_ns * 1e-9)) : Json();
  line["peak_device_bytes"] = report.memory.peak_device_bytes;
  line["host_bytes"] = report.memory.host_bytes;
  line["host_to_device_bytes"] = report.traffic.host_to_device_bytes;
  line["device_to_host_bytes"] = report.traffic.device_to_host_bytes;
  line["fetches"] = report.traffic.fetches;
  line["evictions"] = report.traffic.evictions;
  line["held_out_loss"] = finite_or_null(record.held_out_loss);
  return line;
}

}  // namespace elixir::train
