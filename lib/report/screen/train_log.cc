// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/train_log.h"

#include <cmath>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::report {
namespace {

constexpr std::int64_t kLines = 20;
constexpr double kPatienceNs = 30e9;

/// The largest of 1, 2, 5, 10, 20 … that is at most `most`.
std::int64_t round_number(std::int64_t most) {
  for (std::int64_t unit = 1;; unit *= 10) {
    if (10 * unit <= most) continue;
    return most >= 5 * unit ? 5 * unit : most >= 2 * unit ? 2 * unit : unit;
  }
}

}  // namespace

bool TrainLog::is_due(const LoggedStep& step) const {
  if (run_.every == 0) return false;
  if (step.step == run_.steps || step.held_out_loss || step.skipped) return true;
  if (run_.every) return step.step % *run_.every == 0;
  return !began_ || step.step % round_number(run_.steps / kLines) == 0 ||
         waiting_ns_ >= kPatienceNs;
}

std::optional<std::string> TrainLog::add(const LoggedStep& step) {
  ++waiting_steps_;
  waiting_ns_ += step.step_ns;
  if (!is_due(step)) return std::nullopt;
  const double mean_ns = waiting_ns_ / static_cast<double>(waiting_steps_);
  std::string line = fmt::format("step {}/{}  loss {:.4f}", step.step, run_.steps, step.loss);
  if (step.held_out_loss) line += fmt::format("  held-out {:.4f}", *step.held_out_loss);
  line += fmt::format("  lr {:.3g}", step.learning_rate);
  if (step.gradient_norm) line += fmt::format("  grad norm {:.3g}", *step.gradient_norm);
  if (step.loss_scale) line += fmt::format("  loss scale {}", *step.loss_scale);
  if (step.skipped) line += "  skipped: gradients overflow";
  line += "  " + format_ns(mean_ns);
  if (mean_ns > 0) {
    const double seconds = mean_ns * 1e-9;
    if (run_.tokens_a_step) line += "  " + format_rate(*run_.tokens_a_step / seconds) + " tokens/s";
    line += "  " + format_flop_per_s(run_.flop_a_step / seconds);
  }
  line += fmt::format("  device peak {}", format_bytes(step.peak_device_bytes));
  waiting_steps_ = 0;
  waiting_ns_ = 0;
  began_ = true;
  return line;
}

std::string TrainLog::brief(const LoggedStep& step) const {
  std::string text = fmt::format(
      "step {}/{}  loss {:.4f}  {}", step.step, run_.steps, step.loss, format_ns(step.step_ns));
  if (run_.tokens_a_step && step.step_ns > 0) {
    text += fmt::format("  {} tokens/s", format_rate(*run_.tokens_a_step / (step.step_ns * 1e-9)));
  }
  return text;
}

std::string format_rate(double per_s) {
  if (per_s >= 1e6) return fmt::format("{:.2f} M", per_s / 1e6);
  if (per_s >= 1e4) return fmt::format("{:.1f} k", per_s / 1e3);
  return format_count(std::llround(per_s));
}

std::string format_flop_per_s(double flop_per_s) {
  if (flop_per_s >= 1e12) return fmt::format("{:.1f} TFLOP/s", flop_per_s / 1e12);
  if (flop_per_s >= 1e9) return fmt::format("{:.1f} GFLOP/s", flop_per_s / 1e9);
  return fmt::format("{:.1f} MFLOP/s", flop_per_s / 1e6);
}

}  // namespace elixir::report
