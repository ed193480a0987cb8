// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The cases of adam_benchmark on one device: AdamW in its forms, the same memory accesses without
// arithmetic, a copy, and torch's fused AdamW with the same work.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace elixir::benchmarks {

struct Case {
  std::string name;
  double bytes_per_parameter;            ///< read and written, each once
  std::function<double()> timed_pass_s;  ///< seconds of one pass over all parameters
};
/// The rate of one case divided by that of another.
struct Ratio {
  std::string name, over, under;
  bool of_bytes;  ///< bytes per second instead of parameters per second
};

class Suite {
 public:
  virtual ~Suite() = default;
  /// Device, threads, and everything else that the figures depend on.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual std::vector<Case> cases() = 0;
  [[nodiscard]] virtual std::vector<Ratio> ratios() const = 0;
  /// Compares results on a million parameters. Returns what it compared. Throws std::runtime_error.
  [[nodiscard]] virtual std::vector<std::string> check() = 0;
};

/// Throws std::bad_alloc when there is no room.
[[nodiscard]] std::unique_ptr<Suite> make_cpu_suite(std::size_t parameters, int threads);
/// Null without a GPU; `reason` then says why.
[[nodiscard]] std::unique_ptr<Suite> make_cuda_suite(std::size_t parameters, std::string& reason);

/// Free bytes of the GPU; 0 without one.
[[nodiscard]] std::size_t free_cuda_bytes();

/// Bytes of arrays per parameter that a suite allocates.
inline constexpr std::size_t kSuiteBytesPerParameter = 26;

/// Suite::check().
inline constexpr std::size_t kCheckedParameters = (1 << 20) + 11;
/// torch divides twice and multiplies where we use fused operations. The results differ by a few
/// units of fp32 in one step.
inline constexpr double kTorchTolerance = 2e-6;

}  // namespace elixir::benchmarks
