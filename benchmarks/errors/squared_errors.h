// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How far two computations of the same numbers are from the exact ones, over several batches.

#include <cstdint>
#include <string>
#include <vector>

namespace elixir::errors {

/// Sums of squares over the elements of one tensor (or of several), one sum for each batch.
struct SquaredErrors {
  std::string name;
  std::int64_t elements = 0;         ///< of one batch
  std::vector<double> exact;         ///< of the exact values
  std::vector<double> eager, fused;  ///< of what differs from them

  void add(const SquaredErrors& other);
};

/// Root mean square over elements and batches of `sums`, one of the members above.
[[nodiscard]] double rms(const SquaredErrors& of, const std::vector<double>& sums);

/// The RMS error of fused over that of eager. Where neither has an error it is 1.
struct Ratio {
  double value = 1;
  /// By the jackknife over batches: how much the ratio would vary with other batches.
  double standard_error = 0;
};
[[nodiscard]] Ratio ratio_of(const SquaredErrors& errors);

}  // namespace elixir::errors
