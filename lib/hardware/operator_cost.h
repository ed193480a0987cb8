// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Time and workspace of one operator call on a machine. Each result states its source. Measured:
// the hardware document has this call. Interpolated: the document has smaller and larger calls of
// the same kind. Roofline: otherwise, from the machine's measured rates, fitted to the measured
// calls when there are enough.

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "hardware/collective_cost.h"
#include "hardware/hardware_profile.h"
#include "hardware/operator_table.h"
#include "hardware/sustained_clock.h"
#include "program/program.h"

namespace elixir::hardware {

/// Bytes an operator reads and writes: every tensor argument and fresh output once.
[[nodiscard]] std::int64_t operator_bytes(const program::Operator& op);

/// The work of a call, as far as its time depends on it.
[[nodiscard]] OperatorWork work_of(const program::Operator& op);

/// Upper bound for the bytes that a call allocates for itself and releases before it returns, for
/// calls that were not measured. It must not be too low, because a budget is a promise. Pointwise
/// calls on one dtype, fills, and fused operators (elixir::): 0. Matrix products on CUDA: 0 (their
/// workspace belongs to the library and persists). All others: an fp32 copy of every tensor they
/// read or return; on the CPU also 2 MiB for each of `threads` (blocks of attention and matrix
/// products).
[[nodiscard]] std::int64_t workspace_bound(const program::Operator& op, bool on_cuda, int threads);

struct OperatorCost {
  double time_ns = 0;    ///< on a GPU at least the host time to issue the call
  double kernel_ns = 0;  ///< on a GPU only its kernels; elsewhere time_ns
  std::int64_t workspace_bytes = 0;
  enum class Source { kMeasured, kInterpolated, kRoofline } source = Source::kRoofline;
  double product_ns = 0;  ///< kernel_ns of a call that keeps the GPU's multipliers busy; else 0
};

/// How much longer work takes while other work uses the host's memory or the other direction of the
/// link; 1: not at all, or not measured. By what runs beside it: one other, or both.
struct HostContention {
  struct Beside {
    double first = 1, second = 1, both = 1;
  };
  Beside to_device;  ///< beside copies to the host, and AdamW on the CPU
  Beside to_host;    ///< beside copies to the device, and AdamW on the CPU
  Beside cpu;        ///< AdamW beside copies to the device, and to the host
};
/// By what AdamW writes (AdamWrites): a pass that writes moments alone gives way to copies less
/// than one that computes parameters.
using HostContentions = std::array<HostContention, std::size(kContendingAdam.entries)>;

/// How much longer compute takes beside what ranks exchange, that beside compute, and compute
/// beside copies over the host's link; 1: not at all, or not measured.
struct GpuContention {
  struct Pair {
    double compute = 1, other = 1;
  };
  Pair collective;  ///< gathers and what is sent: NCCL's, or copies between GPUs
  Pair nccl;
  Pair sums;  ///< kernels that add up what ranks have sent
  double compute_beside_to_device = 1;
  double compute_beside_to_host = 1;
};

/// What a pass of AdamW works on: gradients and parameters of one dtype, a master beside the
/// parameter or split with it, moments.
struct AdamForm {
  program::DType gradient = program::DType::kFloat32;
  bool split = false;
  program::DType moments = program::DType::kFloat32;
  AdamWrites writes = AdamWrites::kAll;
  // clang-tidy 14 takes the 0 that this compares with for a pointer.
  auto operator<=>(const AdamForm&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// How many of a machine's ranks share cores and memory of the machine that was measured. Where
/// that had fewer GPUs than are asked for, it stands for each such part of a larger one.
[[nodiscard]] int ranks_on_one_host(const HardwareProfile& profile, const Ranks& ranks);

/// Copies what it needs, so the profile need not outlive it. If the profile lacks a figure (waived
/// or not measured), the first call that needs it throws kJsonMissingKey, naming the measurement.
class CostModel {
 public:
  /// For one of `ranks`: links and cores are this rank's part of what its machine has. A machine
  /// with more GPUs than the profile's is taken for as much larger in all.
  explicit CostModel(const HardwareProfile& profile, const Ranks& ranks = {});
  [[nodiscard]] OperatorCost cost(const program::Operator& op) const;
  /// Nanoseconds for a copy (`bytes` are read and written) or for an optimizer pass; 0 for zero
  /// bytes.
  [[nodiscard]] double host_to_device_ns(std::int64_t bytes) const;
  [[nodiscard]] double device_to_host_ns(std::int64_t bytes) const;
  [[nodiscard]] double device_copy_ns(std::int64_t bytes) const;
  [[nodiscard]] double host_copy_ns(std::int64_t bytes) const;
  [[nodiscard]] double adam_cpu_ns(std::int64_t elements, const AdamForm& form) const;
  [[nodiscard]] double adam_gpu_ns(std::int64_t elements, const AdamForm& form) const;
  /// A chunk of `bytes`, from all ranks to all; gradients of as many, from all ranks to the one
  /// that adds up its part; `bytes` from one rank to all.
  [[nodiscard]] double all_gather_ns(std::int64_t bytes) const;
  [[nodiscard]] double all_to_all_ns(std::int64_t bytes) const;
  [[nodiscard]] double share_parts_ns(std::int64_t bytes) const;
  [[nodiscard]] double reduce_scatter_ns(std::int64_t bytes) const;
  [[nodiscard]] double broadcast_ns(std::int64_t bytes) const;
  [[nodiscard]] const CollectiveCost& collectives() const { return collectives_; }
  [[nodiscard]] const GpuContention& gpu_contention() const { return gpu_contention_; }
  [[nodiscard]] const HostContentions& host_contentions() const { return host_contentions_; }
  [[nodiscard]] const SustainedClock& sustained_clock() const { return sustained_clock_; }
  /// On the CPU device, all streams share the same cores, so their tasks run one after another.
  [[nodiscard]] bool streams_serialize() const { return device_kind_ == program::DeviceKind::kCpu; }

 private:
  struct LinkLine {
    double bytes_per_s = 0, latency_ns = 0;
  };
  [[nodiscard]] OperatorCost known_or_estimated(const program::Operator& op) const;
  [[nodiscard]] OperatorCost estimated(const program::Operator& op, const std::string& key) const;
  [[nodiscard]] double roofline_ns(const OperatorWork& work) const;
  [[nodiscard]] double link_ns(const std::optional<LinkLine>& link,
                               const char* what,
                               std::int64_t bytes) const;
  /// Parameters per second; on the CPU of all ranks of a machine together. A pass that does not
  /// write all, and was not measured, moves its bytes at the rate of one that does; a form that was
  /// not, at that of the plain one.
  [[nodiscard]] double adam_rate(const AdamForm& form, bool on_cpu) const;
  [[nodiscard]] double need(std::optional<double> figure, const char* measurement) const;
  [[noreturn]] void missing(const char* measurement) const;
  void need_collectives() const;

  std::string name_;
  program::DeviceKind device_kind_;
  int threads_ = 1;
  std::optional<LinkLine> host_to_device_, device_to_host_;
  std::optional<double> device_copy_bytes_per_s_, host_copy_bytes_per_s_;
  double launch_ns_ = 0;
  HostContentions host_contentions_;
  GpuContention gpu_contention_;
  CollectiveCost collectives_;
  double host_share_ = 1;  ///< of the machine's cores and host memory
  SustainedClock sustained_clock_;
  // On the CPU of all ranks of a machine together.
  std::map<std::string, double> adam_cpu_params_per_s_, adam_gpu_params_per_s_;  ///< by dtype
  std::map<AdamForm, double> adam_cpu_forms_, adam_gpu_forms_;  ///< forms that were measured
  std::map<std::string, double> matmul_flop_per_s_;             ///< by dtype
  std::unordered_map<std::string, OperatorCost> measured_;      ///< by operator_key
  OperatorTable table_;                                         ///< their work and time
};

}  // namespace elixir::hardware
