// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What measured operator calls say about calls that nobody measured.
//
// A call's time is a *prior* (a roofline) times a correction. Between a smaller and a larger
// measured call of its kind, the logarithm of the correction is interpolated over the logarithms of
// bytes and operations; beyond them, that of the nearest is taken. Without any call of its kind the
// prior alone counts, fitted to all measured calls: start + bytes / rate, or start + operations /
// rate, whichever is more.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "program/program.h"

namespace elixir::hardware {

struct OperatorWork {
  std::int64_t touched_bytes = 0;  ///< operator_bytes()
  std::int64_t flops = 0;
  program::DType dtype = program::DType::kFloat32;  ///< of the arithmetic
};

/// What calls of one kind share: an operator_key() without sizes. Name, overload, and of each
/// tensor dtype, order of dimensions in memory and whether rows begin at multiples of 16 bytes;
/// numbers and lists of numbers (they are sizes as often as not) are dropped.
[[nodiscard]] std::string operator_kind(const std::string& key);

class OperatorTable {
 public:
  using Prior = std::function<double(const OperatorWork&)>;  ///< nanoseconds, above zero

  /// Calls whose work the document does not tell are no neighbours of anything.
  void add(const OperatorTime& time);
  /// Fits the prior to all calls added so far; with few of them the prior stays as it is.
  void fit(const Prior& prior);

  struct Estimate {
    double time_ns = 0;
    bool interpolated = false;  ///< between measured calls of the same kind
  };
  [[nodiscard]] Estimate estimate(const std::string& key,
                                  const OperatorWork& work,
                                  const Prior& prior) const;

 private:
  struct Point {
    OperatorWork work;
    double time_ns;
  };
  /// What kernels add to the prior and multiply it with.
  struct Line {
    double start_ns = 0, slowdown = 1;
  };
  /// The prior after all measured calls: of those that wait for memory, and for arithmetic.
  struct Fit {
    Line memory, arithmetic;
  };
  [[nodiscard]] double fitted_ns(const OperatorWork& work, const Prior& prior) const;

  std::map<std::string, std::vector<Point>> kinds_;
  std::size_t points_ = 0;
  Fit fit_;
};

}  // namespace elixir::hardware
