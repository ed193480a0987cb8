// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Time and workspace of one operator call on a machine: measured where the hardware document has
// the call, interpolated where it has calls of the same kind on both sides, else a roofline over
// the machine's measured rates, fitted to the measured calls where there are enough. Says which it
// was.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "hardware/hardware_profile.h"
#include "hardware/operator_table.h"
#include "program/program.h"

namespace elixir::hardware {

/// Bytes an operator reads and writes: every tensor argument and fresh output once.
[[nodiscard]] std::int64_t operator_bytes(const program::Operator& op);

/// What a call does, as far as time follows from it.
[[nodiscard]] OperatorWork work_of(const program::Operator& op);

/// Bytes that a call may allocate for itself and release before it returns, where nobody measured:
/// an upper bound, because a budget is a promise. Pointwise calls on one dtype and fills: none. On
/// CUDA matrix products: none (their workspace is the library's and persistent). All others: an
/// fp32 copy of every tensor they read or return, and on the CPU 2 MiB for each of `threads`
/// besides (blocks of attention and matrix products).
[[nodiscard]] std::int64_t workspace_bound(const program::Operator& op, bool on_cuda, int threads);

struct OperatorCost {
  double time_ns = 0;    ///< on a GPU no less than its host needs to issue the call
  double kernel_ns = 0;  ///< on a GPU its kernels alone, else time_ns
  std::int64_t workspace_bytes = 0;
  enum class Source { kMeasured, kInterpolated, kRoofline } source = Source::kRoofline;
};

/// Copyable; keeps copies of what it needs. A figure that the profile lacks (waived, not measured)
/// is an Error (kJsonMissingKey) that names the measurement, thrown where it is needed first.
class CostModel {
 public:
  explicit CostModel(const HardwareProfile& profile);
  [[nodiscard]] OperatorCost cost(const program::Operator& op) const;
  /// Nanoseconds for a copy (of `bytes`, read and written) or an optimizer pass; 0 for nothing.
  [[nodiscard]] double host_to_device_ns(std::int64_t bytes) const;
  [[nodiscard]] double device_to_host_ns(std::int64_t bytes) const;
  [[nodiscard]] double device_copy_ns(std::int64_t bytes) const;
  [[nodiscard]] double host_copy_ns(std::int64_t bytes) const;
  [[nodiscard]] double adam_cpu_ns(std::int64_t elements, program::DType gradient) const;
  [[nodiscard]] double adam_gpu_ns(std::int64_t elements, program::DType gradient) const;
  /// The CPU device runs every stream on the same cores, one task after another.
  [[nodiscard]] bool streams_serialize() const { return device_kind_ == program::DeviceKind::kCpu; }

 private:
  struct Link {
    double bytes_per_s = 0, latency_ns = 0;
  };
  [[nodiscard]] OperatorCost estimated(const program::Operator& op, const std::string& key) const;
  [[nodiscard]] double roofline_ns(const OperatorWork& work) const;
  [[nodiscard]] double link_ns(const std::optional<Link>& link,
                               const char* what,
                               std::int64_t bytes) const;
  [[nodiscard]] double need(std::optional<double> figure, const char* measurement) const;
  [[noreturn]] void missing(const char* measurement) const;

  std::string name_;
  program::DeviceKind device_kind_;
  int threads_ = 1;
  std::optional<Link> host_to_device_, device_to_host_;
  std::optional<double> device_copy_bytes_per_s_, host_copy_bytes_per_s_;
  double launch_ns_ = 0;
  std::map<std::string, double> adam_cpu_params_per_s_,
      adam_gpu_params_per_s_;                               ///< by dtype, one rank
  std::map<std::string, double> matmul_flop_per_s_;         ///< by dtype
  std::unordered_map<std::string, OperatorCost> measured_;  ///< by operator_key
  OperatorTable table_;                                     ///< their work and time
};

}  // namespace elixir::hardware
