// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The log of a training run: one line for some of its steps, always with the same words in the same
// order, so that people and scripts can find them. Loss, rate, norm and memory belong to the step.
// Time and speed are means over the steps since the last line. A held-out loss is only in the line
// of its step.

#include <cstdint>
#include <optional>
#include <string>

namespace elixir::report {

struct LoggedStep {
  std::int64_t step = 0;
  double loss = 0;
  std::optional<double> held_out_loss;  ///< measured after this step
  double learning_rate = 0;
  std::optional<double> gradient_norm;
  std::optional<double> loss_scale;
  bool skipped = false;  ///< by the loss scale
  double step_ns = 0;
  std::int64_t peak_device_bytes = 0;
};

class TrainLog {
 public:
  struct Run {
    std::int64_t steps = 0;             ///< number of the last step
    std::optional<std::int64_t> every;  ///< --log-every; 0: no lines; nullopt: about twenty lines
    std::optional<double> tokens_a_step;
    double flop_a_step = 0;
  };
  explicit TrainLog(const Run& run) : run_(run) {}

  /// Adds a step, and returns its line if it gets one. Lines are due for every step with a held-out
  /// loss, the last step, and every --log-every steps. Without --log-every, also for the first
  /// step, and for the first step that ends half a minute after the last line.
  [[nodiscard]] std::optional<std::string> add(const LoggedStep& step);
  /// For the progress line: the position in the run, the loss and the speed.
  [[nodiscard]] std::string brief(const LoggedStep& step) const;

 private:
  [[nodiscard]] bool is_due(const LoggedStep& step) const;
  Run run_;
  std::int64_t waiting_steps_ = 0;  ///< since the last line
  double waiting_ns_ = 0;
  bool began_ = false;
};

/// "9,192", "12.3 k", "1.25 M".
[[nodiscard]] std::string format_rate(double per_s);
/// "221.4 TFLOP/s", "3.2 GFLOP/s", "14 MFLOP/s".
[[nodiscard]] std::string format_flop_per_s(double flop_per_s);

}  // namespace elixir::report
