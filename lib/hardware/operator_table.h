// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Estimates the time of calls that were not measured from measured ones.
//
// A call's time is a *prior* (a roofline) times a correction. Between a smaller and a larger
// measured call of its kind, the logarithm of the correction is interpolated over the logarithms of
// bytes and operations. Outside that range, the nearest call's correction applies. If no call of
// its kind was measured, there is no correction; the prior is fitted to all measured calls instead:
// the larger of start + bytes / rate and start + operations / rate.

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

/// What calls of one kind share: an operator_key() without sizes. Keeps the name, the overload, and
/// each tensor's dtype, order of dimensions in memory and whether rows begin at multiples of 16
/// bytes. Drops numbers and lists of numbers, because they are often sizes.
[[nodiscard]] std::string operator_kind(const std::string& key);

class OperatorTable {
 public:
  using Prior = std::function<double(const OperatorWork&)>;  ///< nanoseconds, above zero

  /// Adds a measured call. A call without recorded work is never used as a neighbour.
  void add(const OperatorTime& time);
  /// Fits the prior to all calls added so far. With too few calls the prior stays as it is.
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
  /// What measured times add to the prior, and the factor by which they exceed it.
  struct Line {
    double start_ns = 0, slowdown = 1;
  };
  /// The fitted prior: one line for calls limited by memory, one for calls limited by arithmetic.
  struct Fit {
    Line memory, arithmetic;
  };
  [[nodiscard]] double fitted_ns(const OperatorWork& work, const Prior& prior) const;

  std::map<std::string, std::vector<Point>> kinds_;
  std::size_t points_ = 0;
  Fit fit_;
};

}  // namespace elixir::hardware
