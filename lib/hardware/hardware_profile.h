// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The hardware document (`elixir.hardware`): measured abilities of one kind of machine. No figure
// is a constant: each has its median, spread and sample count. `elixir-bench` writes the document,
// the planner reads it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/name_table.h"
#include "program/program.h"
#include "program/workspace_answers.h"

namespace elixir::hardware {

/// A measured figure, in the unit that its key names. spread = (third - first quartile) / median.
struct Figure {
  double median = 0;
  double spread = 0;
  std::int64_t samples = 0;
  std::string method;  ///< one line: how it was measured
  /// Other programs took the cores: its samples are the fastest of too few that they left alone.
  bool disturbed = false;
};

struct Gpu {
  std::string name;
  int sm = 0;  ///< compute capability times ten
  std::int64_t memory_bytes = 0;
  std::int64_t context_bytes = 0;  ///< process memory outside the caching allocator after warm-up
};

struct Cache {
  int level = 1;
  std::string type;  ///< "data", "instruction" or "unified"
  std::int64_t bytes = 0;
  int cpus = 1;   ///< logical CPUs that share one cache
  int count = 1;  ///< number of caches of this kind in the machine
};
struct NumaNode {
  int node = 0;
  int logical_cpus = 0;
  std::int64_t memory_bytes = 0;
};
/// As the kernel reports it. A virtual machine may report the caches of its whole host.
struct Topology {
  int packages = 1;
  int cores = 1;
  std::vector<NumaNode> numa_nodes;  ///< ascending
  std::vector<Cache> caches;         ///< by level, then type
};

struct Machine {
  std::string cpu;
  /// As oneDNN sees it. kUnsaid in older documents, which did not name it.
  program::CpuIsa isa = program::CpuIsa::kUnsaid;
  int logical_cpus = 0;
  int threads = 0;  ///< threads used by the CPU measurements
  std::int64_t host_memory_bytes = 0;
  std::optional<Topology> topology;
};

/// Total copy rate of `gpus` GPUs in use together. On a CPU-only machine `gpus` is 1 and the
/// "device" is the device arena, so the copy is a memory copy.
struct LinkRate {
  int gpus = 1;
  Figure bytes_per_s;
  Figure latency_ns;
};
/// The line through the times of one copy over its size: latency + bytes / rate (least squares of
/// the relative error). nullopt where no line fits the points (line_fit.h).
struct LinkLine {
  double latency_ns = 0;
  double bytes_per_s = 0;
  double worst_relative_error = 0;  ///< over the points
};
struct LinkPoint {
  std::int64_t bytes = 0;
  Figure time_ns;
};
enum class Direction : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };
inline constexpr NameTable<Direction, 3> kDirections{
    {{Direction::kHostToDevice, "host_to_device"},
     {Direction::kDeviceToHost, "device_to_host"},
     {Direction::kDeviceToDevice, "device_to_device"}}};
[[nodiscard]] constexpr std::string_view name_of(Direction direction) {
  return kDirections.name_of(direction);
}
/// The pages of host memory at the other end of a copy; kNone inside the device.
enum class HostPages : std::uint8_t { kPinned, kPageable, kNone };
inline constexpr NameTable<HostPages, 3> kHostPages{{{HostPages::kPinned, "pinned"},
                                                     {HostPages::kPageable, "pageable"},
                                                     {HostPages::kNone, "none"}}};
[[nodiscard]] constexpr std::string_view name_of(HostPages pages) {
  return kHostPages.name_of(pages);
}
struct LinkCurve {
  Direction direction = Direction::kHostToDevice;
  HostPages pages = HostPages::kPinned;
  std::optional<LinkLine> line;
  std::vector<LinkPoint> points;  ///< ascending bytes
};
/// Copies from one GPU's memory to another's.
struct PeerRate {
  int from = 0, to = 1;
  bool direct = false;  ///< over NVLink or PCIe, without passing through host memory
  Figure bytes_per_s;
  Figure latency_ns;
};
/// How fast pinned host memory becomes ready, in bytes per second: `plain` with the runtime's
/// allocator, `arena` with ordinary memory that is touched in parallel and then registered.
struct PinnedAllocation {
  std::int64_t bytes = 0;
  Figure plain_bytes_per_s;
  Figure arena_bytes_per_s;
};
struct Links {
  std::vector<LinkRate> host_to_device, device_to_host, both_at_once, pageable_host_to_device;
  std::vector<LinkCurve> curves;
  std::vector<PeerRate> peers;
  std::optional<PinnedAllocation> pinned_allocation;
};

/// One pass over arrays in host memory. Counts bytes read plus bytes written.
struct HostStream {
  std::string kernel;  ///< "copy", "triad", or "adam": the memory streams of the optimizer pass
  int threads = 1;
  std::optional<int> numa_node;  ///< threads and memory on this node; nullopt: whole machine
  Figure bytes_per_s;
};

/// An NCCL collective over `gpus` GPUs of this machine, with the definitions of nccl-tests.
struct CollectivePoint {
  std::int64_t bytes = 0;  ///< of the whole result (all-gather) or input (reduce-scatter)
  Figure time_ns;
  double algorithm_bytes_per_s = 0;  ///< bytes / time
  double bus_bytes_per_s = 0;        ///< traffic on each link
};
struct Collective {
  std::string operation;  ///< "all_gather", "reduce_scatter", "all_reduce" or "broadcast"
  int gpus = 2;
  Figure latency_ns;                    ///< of the smallest size
  std::vector<CollectivePoint> points;  ///< ascending bytes
};

/// Sequential transfers in one directory, without the page cache.
struct Disk {
  std::string directory;
  std::string engine;  ///< "io_uring" or "threads"
  std::int64_t file_bytes = 0;
  std::int64_t block_bytes = 0;
  int queue_depth = 1;
  Figure read_bytes_per_s;
  Figure write_bytes_per_s;
};

/// Slowdown of `work` while `beside` runs: rate alone / rate beside. On `gpus` GPUs at once.
struct Contention {
  std::string work;
  std::string beside;
  int gpus = 1;
  Figure slowdown;
};

/// AdamW rates in parameters per second with fp32 states. `dtype` is that of gradient and parameter
/// ("bf16", "fp32").
struct AdamRate {
  std::string dtype;
  int ranks = 1;
  Figure params_per_s;
};

/// What a pass of AdamW writes: everything, masters and parameters without moments, or moments
/// alone (plan::Chunk::late_moments).
enum class AdamWrites : std::uint8_t { kAll, kParameters, kMoments };
inline constexpr NameTable<AdamWrites, 3> kAdamWrites{{{AdamWrites::kAll, "all"},
                                                       {AdamWrites::kParameters, "parameters"},
                                                       {AdamWrites::kMoments, "moments"}}};

/// A pass on the cores, as a work of Contention.
inline constexpr NameTable<AdamWrites, 3> kContendingAdam{
    {{AdamWrites::kAll, "adam_cpu"},
     {AdamWrites::kParameters, "adam_cpu_parameters"},
     {AdamWrites::kMoments, "adam_cpu_moments"}}};

/// The rate of one form of the AdamW pass, over `parameters` parameters; of `ranks` at once, all
/// together.
struct AdamFormRate {
  std::string device;    ///< "cpu" or "gpu"
  std::string gradient;  ///< dtype of gradient and parameter: "bf16", "fp16", "fp32"
  std::string moments;   ///< "fp32" or "bf16"
  std::string master;    ///< "separate" or "split"
  std::int64_t parameters = 0;
  Figure params_per_s;
  AdamWrites writes = AdamWrites::kAll;
  int ranks = 1;
};

struct ComputeRate {
  std::string dtype;
  Figure matmul_flop_per_s;
};

/// How much longer matrix products take when the GPU is busy with them for the share `duty` of the
/// time: power and heat then lower its clock. Calls are measured one by one, at the full clock.
struct SustainedRate {
  std::string dtype;
  double duty = 1;  ///< above 0, at most 1
  Figure slowdown;
};

/// One distinct operator call measured on the target of this document.
struct OperatorTime {
  std::string key;  ///< operator_key()
  Figure time_ns;
  std::int64_t workspace_bytes = 0;  ///< device bytes in the call, without live tensors and outputs
  std::optional<Figure> host_ns;     ///< host time until the call returned (CUDA)
  std::optional<std::int64_t> persistent_bytes;  ///< the library keeps them after its first call
  /// Work of the call, used to estimate other calls of its kind. Missing in older documents.
  std::optional<std::int64_t> touched_bytes;
  std::optional<std::int64_t> flops;
};

struct HardwareProfile {
  std::string name;  ///< "h200", "cpu", or the host's
  /// What programs run on.
  program::DeviceKind device_kind = program::DeviceKind::kCpu;
  Machine machine;
  std::vector<Gpu> gpus;
  Links links;
  std::vector<AdamRate> adam_cpu, adam_gpu;
  std::vector<AdamFormRate> adam_forms;
  std::vector<ComputeRate> compute;
  std::vector<SustainedRate> sustained;
  std::optional<Figure> device_copy_bytes_per_s;  ///< device-to-device, bytes read + written
  std::optional<Figure> host_copy_bytes_per_s;
  std::optional<Figure> launch_ns;  ///< host time of one replayed operator
  std::vector<HostStream> host_streams;
  std::vector<Collective> collectives;
  std::optional<Disk> disk;
  std::vector<Contention> contention;
  std::vector<OperatorTime> operators;                  ///< sorted by key
  std::optional<program::WorkspaceAnswers> workspaces;  ///< of convolutions, as cuDNN said here
  std::map<std::string, std::string> waived;            ///< measurement -> reason
  std::map<std::string, std::string> noticed;  ///< measurement -> what makes it less certain
  Json meta;
};

[[nodiscard]] HardwareProfile load_hardware(const std::string& path_or_shipped_name);
[[nodiscard]] HardwareProfile parse_hardware(const JsonDocument& document);
[[nodiscard]] Json to_json(const HardwareProfile& profile);
/// The target that programs for this machine are captured for. A CPU's instruction set may be
/// unknown.
[[nodiscard]] program::Target target_of(const HardwareProfile& profile);
/// SHA-256 over everything except `meta` and `workspaces`. Newer parts do not count while they are
/// empty, so reading and writing an older document keeps its fingerprint.
[[nodiscard]] std::string fingerprint(const HardwareProfile& profile);
/// Names of the profiles shipped with Elixir ("h200", "cpu", …). Searches $ELIXIR_PROFILES, then
/// the installation, then the source tree.
[[nodiscard]] std::vector<std::string> shipped_profiles();
/// The one of that name; nullopt where there is none. Never a file of the working directory.
[[nodiscard]] std::optional<HardwareProfile> load_shipped(const std::string& name);
/// The one of them that can time every call on `target`, which names a kind of GPU. If several can:
/// one with fewest GPUs, and of these the one with most measured calls. nullopt if there is none.
/// There is none for CPUs, because CPUs of one instruction set differ too much.
[[nodiscard]] std::optional<HardwareProfile> shipped_hardware_of(const program::Target& target);

}  // namespace elixir::hardware
