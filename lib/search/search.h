// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Search strategies. Each takes a program, hardware and a budget, and returns the best plan it
// knows, or the reason why there is none. Strategies are pure functions: the same inputs give the
// same plan, and ties are broken by name or id.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/name_table.h"
#include "edit/activations.h"
#include "edit/offload.h"
#include "hardware/hardware_profile.h"
#include "plan/plan.h"
#include "program/program.h"
#include "schedule/simulate.h"

namespace elixir::search {

/// The part by which a predicted step time may be off. So the search takes a plan that moves
/// nothing, unless another plan is faster by more than this.
inline constexpr double kPredictionDoubt = 0.05;

/// The places that AdamW's state may be in.
enum class OptimizerState : std::uint8_t {
  kAuto,  ///< wherever the step is fastest
  kHost,  ///< all of it on the host, as ZeRO-Offload has it (Ren et al., arXiv 2101.06840)
};
inline constexpr NameTable<OptimizerState, 2> kOptimizerStates{
    {{OptimizerState::kAuto, "auto"}, {OptimizerState::kHost, "host"}}};

/// Whether gradients are those of the loss times a loss scale.
enum class LossScale : std::uint8_t {
  kAuto,  ///< where a gradient is float16 (program/loss_scale.h)
  kAlways
};
inline constexpr NameTable<LossScale, 2> kLossScales{
    {{LossScale::kAuto, "auto"}, {LossScale::kAlways, "always"}}};

/// What a search takes unless told otherwise: the fastest. On a CPU, groups of elementwise
/// operators are slower than LibTorch's vectorised loops.
[[nodiscard]] constexpr plan::Arithmetic default_arithmetic(program::DeviceKind target) {
  return target == program::DeviceKind::kCuda ? plan::Arithmetic::kFusedElementwise
                                              : plan::Arithmetic::kFused;
}

struct Request {
  std::string strategy = "optimal";  ///< optimal, minimum-waste, simple, elixir
  /// The budget of one GPU, and of one machine for all its GPUs. Default: what the hardware has.
  /// For a machine with more GPUs than the hardware document's, everything grows with the number of
  /// GPUs.
  std::optional<std::int64_t> gpu_memory_bytes, host_memory_bytes;
  int gpus = 1;
  /// GPUs of one machine; divides `gpus`. nullopt: as ranks_of() says.
  std::optional<int> gpus_per_node;
  /// Copies of parameters and their state among all GPUs (plan/rank_grid.h).
  int replicas = 1;
  plan::Reduce reduce = plan::Reduce::kOrdered;  ///< how several GPUs' gradients are added up
  plan::ReduceDType reduce_dtype = plan::ReduceDType::kFloat32;  ///< in which dtype
  plan::ReducePer reduce_per = plan::ReducePer::kMicroBatch;     ///< and when
  /// The rate of each GPU to other machines, in one direction; 400 Gb/s by default.
  std::int64_t network_bytes_per_s = hardware::kAssumedNetworkBytesPerS;
  int accumulation_steps = 1;
  program::Optimizer optimizer = program::Optimizer::kAdamW;
  bool clip_gradients = true;  ///< plan for a global norm before the updates; so do loss scales
  LossScale loss_scale = LossScale::kAuto;
  program::DType moment_dtype = program::DType::kFloat32;  ///< of AdamW's moments: fp32 or bf16
  OptimizerState optimizer_state = OptimizerState::kAuto;  ///< of strategy optimal
  /// nullopt: for `optimal` whatever is fastest, and nothing where everything fits the device; for
  /// the other strategies blocks, as the original Elixir trains.
  std::optional<edit::Recompute> recompute;
  /// Activations that are kept: none or all of them on the host. nullopt: for `optimal` as many as
  /// make the step faster, or possible; for the other strategies none.
  std::optional<edit::Offload> offload;
  /// nullopt: that of the program's target (default_arithmetic()).
  std::optional<plan::Arithmetic> arithmetic;
  /// Takes effect where a step has several micro-batches and its loss is a mean over labels
  /// (edit/loss/token_mean.h).
  plan::Average average = plan::Average::kTokens;
  /// Called when each search begins, with the part that has begun before, from 0 to 1, and what is
  /// searched. Calls come one after another, from any thread.
  std::function<void(double, const std::string&)> on_progress;
  bool elixir_constants =
      false;  ///< strategy elixir: the original's constants instead of measured rates
};

struct Candidate {
  std::string description;  ///< "chunk 32 MiB, 4 blocks, optimizer host"
  std::int64_t step_ns = 0, peak_bytes = 0, host_bytes = 0;
};

/// Device memory that a plan needs.
struct DeviceNeed {
  std::int64_t peak_bytes = 0;        ///< allocated
  std::int64_t gpu_memory_bytes = 0;  ///< budget: context and allocator allowance included
};

/// Activations from forward to backward.
struct Recomputation {
  edit::Recompute choice = edit::Recompute::kNone;
  std::int64_t recompute_ns = 0;        ///< of the operators that run a second time
  std::int64_t kept_bytes = 0;          ///< under the plan, on device and host
  std::int64_t kept_without_bytes = 0;  ///< if nothing were recomputed
  std::int64_t offloaded_bytes = 0;     ///< the part of `kept_bytes` on the host
  std::int64_t in_gradients_bytes =
      0;  ///< the part of `kept_bytes` in GPU memory that gradients use later
};

struct Found {
  plan::Plan plan;
  std::string description;  ///< as in Candidate
  Recomputation recomputation;
  /// Why losses were not fused although `fused` was asked for, one sentence each.
  std::vector<std::string> losses_kept;
  /// How the time of collectives is known; empty with one GPU.
  std::string collectives;
  /// Fastest first, without duplicates of each other or of the winner. One may be faster than a
  /// winner that moves nothing, by at most kPredictionDoubt.
  std::vector<Candidate> runners_up;
  std::optional<DeviceNeed> all_on_device;  ///< of a plan that moves nothing, if this one moves any
  std::int64_t candidates = 0;              ///< number of plans evaluated
  std::int64_t operators_measured = 0, operators_total = 0;
  schedule::MemoryPeak device_peak;  ///< of the plan, by category
  /// Budget with which the plan is found: context and an estimate of what the allocator holds.
  std::int64_t gpu_memory_bytes = 0;
  /// What a process takes of a GPU: as NVML shows it. On the CPU device the same as the budget.
  std::int64_t process_bytes = 0;
};

struct Remedy {
  std::string text;  ///< "--gpu-memory 12.4GiB", "profile with --batch 4 …"
};

/// The memory of which a plan would need more than there is.
enum class BindingLimit : std::uint8_t { kGpuMemory, kHostMemory };
inline constexpr NameTable<BindingLimit, 2> kBindingLimits{
    {{BindingLimit::kGpuMemory, "gpu_memory"}, {BindingLimit::kHostMemory, "host_memory"}}};
[[nodiscard]] constexpr std::string_view name_of(BindingLimit limit) {
  return kBindingLimits.name_of(limit);
}

struct Infeasible {
  BindingLimit binding_limit = BindingLimit::kGpuMemory;
  std::int64_t shortfall_bytes = 0;
  std::int64_t minimum_gpu_memory_bytes = 0, minimum_host_memory_bytes = 0;
  bool minimum_needs_more_host = false;            ///< no GPU memory is enough with the host budget
  std::optional<schedule::MemoryPeak> least_peak;  ///< of the plan that needs the least GPU memory
  std::vector<Remedy> remedies;
};

using Outcome = std::variant<Found, Infeasible>;

/// Names of the strategies, the default first.
[[nodiscard]] std::vector<std::string> strategies();

/// Runs the strategy of `request`. Throws kProfileTargetMismatch when the program was captured for
/// another kind of device than the hardware's, kBadFlagValue for options that this version cannot
/// plan, and kJsonMissingKey when the profile lacks a measurement.
[[nodiscard]] Outcome search(const program::Program& program,
                             const hardware::HardwareProfile& hardware,
                             const Request& request);

}  // namespace elixir::search
