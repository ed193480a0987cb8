// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random rows of logits for the cross entropy, in any dtype and with any distance between rows.
// Padding between rows holds NaN, so that a kernel that reads it is found.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cross_entropy.h"

namespace elixir::kernels {

inline constexpr std::int64_t kIgnoredClass = -100;

struct RowsShape {
  std::size_t rows = 5, classes = 1000;
  std::size_t padding = 0;  ///< logits between the end of a row and the next
  bool weights = false;
  LossReduction reduction = LossReduction::kMean;
  double label_smoothing = 0;
};

class CrossEntropyProblem {
 public:
  /// Every fourth row is ignored.
  CrossEntropyProblem(Element type, const RowsShape& shape, std::uint32_t seed);

  /// The rows in this object's memory.
  [[nodiscard]] CrossEntropyRows rows();
  /// The same without memory, for a copy of the arrays on a device.
  [[nodiscard]] const CrossEntropyRows& geometry() const { return geometry_; }

  void set(std::size_t row, std::size_t c, float value);
  /// As a kernel reads it.
  [[nodiscard]] float logit(std::size_t row, std::size_t c) const;
  /// Whether the padding still holds what it held at first.
  [[nodiscard]] bool padding_is_untouched() const;

  std::vector<std::uint8_t> logits;
  std::vector<std::int64_t> targets;
  std::vector<float> weights;  ///< empty: none

 private:
  [[nodiscard]] std::uint8_t* address(std::size_t position) {
    return logits.data() + position * bytes_of(geometry_.type);
  }
  void store(std::size_t position, float value);
  [[nodiscard]] float load(std::size_t position) const;

  CrossEntropyRows geometry_;
};

}  // namespace elixir::kernels
