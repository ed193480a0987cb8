// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The loss scale of a training: the factor that lifts small gradients into the range of float16. A
// step whose scaled gradients are not finite is skipped, and the scale becomes smaller; after many
// good steps in a row it becomes larger. As torch.amp.GradScaler, with the hysteresis and the
// minimum of Megatron-LM's DynamicGradScaler.
//
// Every rank has one, and all come to the same scale, because they know the same norm.

#include <cstdint>

namespace elixir::runtime {

/// Kernels divide by the scale times the number of micro-batches, in fp32.
inline constexpr double kLargestLossScale = 0x1p100;

struct LossScaleOptions {
  double initial = 65536.0;
  double growth = 2.0, backoff = 0.5;  ///< factors
  std::int64_t interval = 2000;        ///< good steps in a row before it grows; 0: it never does
  double minimum = 1.0;                ///< an overflow here is a failure
  /// Overflows since it last grew, from which on each makes it smaller.
  std::int64_t hysteresis = 1;

  bool operator==(const LossScaleOptions&) const = default;
  /// A scale that stays what it is.
  [[nodiscard]] static LossScaleOptions fixed(double scale) {
    return {.initial = scale, .interval = 0, .minimum = scale};
  }
};

/// What a checkpoint keeps of it.
struct LossScaleState {
  double scale = 1.0;
  std::int64_t good_steps = 0;     ///< in a row
  std::int64_t overflows = 0;      ///< since it last grew
  std::int64_t skipped_steps = 0;  ///< of the whole training

  bool operator==(const LossScaleState&) const = default;
};

class LossScaler {
 public:
  explicit LossScaler(const LossScaleOptions& options);

  [[nodiscard]] const LossScaleState& state() const { return state_; }
  void set_state(const LossScaleState& state) { state_ = state; }
  /// Whether a step with this scale may be skipped: a smaller one may do.
  [[nodiscard]] bool may_skip() const { return state_.scale > options_.minimum; }
  /// After a step that was made.
  void made();
  /// After a step that was skipped.
  void skipped();

 private:
  LossScaleOptions options_;
  LossScaleState state_;
};

}  // namespace elixir::runtime
