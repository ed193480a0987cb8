// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The optimizer's part of a step: norm, clip factor and AdamW over the trained ranges of each
// chunk. Frozen parameters and parameters without a gradient have no range: no state, no update, no
// decay.
//
// The caller must run one step at a time: begin_step(), norm() for each chunk, clip(), update() for
// each chunk. The passes also detect values that are not finite: such a norm holds back every
// update, and such an update marks its chunk. After the step the caller must ask finite().

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/stream_operations.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/trainer_options.h"

namespace elixir::runtime {

/// Thrown by a step's clip task, so that no later task runs.
struct NormNotFinite {};

class OptimizerPass {
 public:
  /// The arrays of one chunk, or of a piece of it, each from the first element on. `parameters` may
  /// be the master itself.
  struct Chunk {
    float* master;
    float* moment1;
    float* moment2;
    const void* gradients;
    program::DType gradient_type;
    void* parameters;
    program::DType parameter_type;
    std::int64_t first_element = 0;  ///< of a piece: in the chunk
    std::int64_t elements = 0;       ///< of a piece; 0: the whole chunk
  };

  OptimizerPass(const program::Program& program,
                const plan::Plan& plan,
                const OptimizerOptions& options,
                const std::vector<ParameterLayout>& layouts);

  /// Numbers of floats that norm() fills, and of marks (one per chunk) that update() sets. The
  /// caller must provide memory that every stream can write.
  [[nodiscard]] std::size_t sums() const { return sum_count_; }
  [[nodiscard]] std::size_t marks() const { return ranges_.size(); }
  void set_memory(float* sums, std::uint32_t* marks) {
    sums_ = sums;
    marks_ = marks;
  }

  void begin_step(std::int64_t step, double learning_rate, int micro_batches);
  /// Computes the sums of squares of chunk `index`.
  void norm(std::int32_t index,
            const void* gradients,
            program::DType type,
            StreamOperations& operations);
  /// Computes norm and factor from all sums. Runs on the host, after all calls of norm().
  void clip();
  void update(std::int32_t index, const Chunk& chunk, StreamOperations& operations) const;

  /// The step that begin_step() began; 0 before the first.
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// Of this step, after clip().
  [[nodiscard]] std::optional<double> gradient_norm() const { return gradient_norm_; }
  /// Whether gradients and updates of this step were finite. Call it when all tasks are done.
  [[nodiscard]] bool finite() const;
  /// Whether chunk `index` has a value that is not finite, or may have one because the norm
  /// overflowed.
  [[nodiscard]] bool suspects(std::int32_t index) const;
  /// The norm is not finite, so no update was made.
  [[nodiscard]] bool norm_overflowed() const { return held_back_; }

 private:
  struct Range {
    std::int64_t first_element, elements;
    bool decays;
  };
  struct Sum {
    std::int64_t first_element, elements;
    std::size_t first_sum;
  };

  OptimizerOptions options_;
  std::vector<std::vector<Range>> ranges_;  ///< by chunk
  std::vector<std::vector<Sum>> norms_;     ///< by chunk
  std::size_t sum_count_ = 0;
  float* sums_ = nullptr;
  std::uint32_t* marks_ = nullptr;
  std::int64_t step_ = 0;
  double learning_rate_ = 0;
  int micro_batches_ = 1;
  float clip_factor_ = 1;
  bool held_back_ = false;
  std::optional<double> gradient_norm_;
};

}  // namespace elixir::runtime
