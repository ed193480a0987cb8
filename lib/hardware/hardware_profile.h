// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The hardware document (`elixir.hardware`): measured abilities of one kind of machine. Every
// figure carries its median, spread and sample count; nothing is a constant. `elixir-bench` writes
// it, the planner reads it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "program/program.h"

namespace elixir::hardware {

/// A measured figure in the unit its key names. spread = (third - first quartile) / median.
struct Figure {
  double median = 0;
  double spread = 0;
  std::int64_t samples = 0;
  std::string method;  ///< one line: how it was measured
};

struct Gpu {
  std::string name;
  int sm = 0;  ///< compute capability times ten
  std::int64_t memory_bytes = 0;
  std::int64_t context_bytes = 0;  ///< process memory outside the caching allocator after warm-up
};

struct Machine {
  std::string cpu;
  int logical_cpus = 0;
  int threads = 0;  ///< threads used by the CPU measurements
  std::int64_t host_memory_bytes = 0;
};

/// Copy rate by number of GPUs in use together (aggregate). On a CPU-only machine `gpus` is 1 and
/// the "device" is the device arena: a memory copy.
struct LinkRate {
  int gpus = 1;
  Figure bytes_per_s;
  Figure latency_ns;
};
struct Links {
  std::vector<LinkRate> host_to_device, device_to_host, both_at_once, pageable_host_to_device;
};

/// AdamW rates in parameters per second, fp32 states, by gradient and parameter dtype ("bf16",
/// "fp32").
struct AdamRate {
  std::string dtype;
  int ranks = 1;
  Figure params_per_s;
};

struct ComputeRate {
  std::string dtype;
  Figure matmul_flop_per_s;
};

/// One distinct operator call measured on the target of this document.
struct OperatorTime {
  std::string key;  ///< operator_key()
  Figure time_ns;
  std::int64_t workspace_bytes = 0;  ///< device bytes beyond live tensors and outputs while it runs
};

struct HardwareProfile {
  std::string name;         ///< "h200", "cpu", or the host's
  std::string device_kind;  ///< "cuda" or "cpu": what programs run on
  Machine machine;
  std::vector<Gpu> gpus;
  Links links;
  std::vector<AdamRate> adam_cpu, adam_gpu;
  std::vector<ComputeRate> compute;
  std::optional<Figure> device_copy_bytes_per_s;  ///< device-to-device, read + written
  std::optional<Figure> host_copy_bytes_per_s;
  std::optional<Figure> launch_ns;            ///< host time of one replayed operator
  std::vector<OperatorTime> operators;        ///< sorted by key
  std::map<std::string, std::string> waived;  ///< measurement -> reason
  Json meta;
};

[[nodiscard]] HardwareProfile load_hardware(const std::string& path_or_shipped_name);
[[nodiscard]] HardwareProfile parse_hardware(const JsonDocument& document);
[[nodiscard]] Json to_json(const HardwareProfile& profile);
/// SHA-256 over everything but `meta`.
[[nodiscard]] std::string fingerprint(const HardwareProfile& profile);
/// Names of the profiles installed with Elixir ("h200", "cpu", …); searched in $ELIXIR_PROFILES,
/// then beside the installation, then in the source tree.
[[nodiscard]] std::vector<std::string> shipped_profiles();

}  // namespace elixir::hardware
