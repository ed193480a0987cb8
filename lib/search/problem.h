// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The common input of all strategies: a program on a machine under budgets. Derived tables are
// computed once. Time and memory of a plan come from lowering and simulating it, so strategies
// compare exactly what the trainer will run.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "hardware/operator_cost.h"
#include "operators/scratch/call_script.h"
#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "schedule/simulate/simulate_plans.h"
#include "schedule/step_needs.h"
#include "search/layout.h"
#include "search/search.h"

namespace elixir::search {

/// A plan with its simulation.
struct Evaluated {
  plan::Plan plan;
  std::string description;
  schedule::Simulation simulation;
  std::int64_t gpu_memory_bytes =
      0;  ///< the budget that it needs, as estimated while plans are compared
  std::int64_t process_bytes = 0;  ///< what a process takes of a GPU; 0 until verify()
};

/// CUDA only: an estimate of what LibTorch's caching allocator holds beyond allocated memory. It is
/// used while many plans are compared. It covers half-used pages, and a share of the operators'
/// peak for splitting. Plans that are found are then checked with the simulated allocator
/// (verify()). It is part of the budget, never of the predicted allocated bytes.
inline constexpr std::int64_t kAllocatorFloorBytes = std::int64_t{63} << 20;
inline constexpr std::int64_t kAllocatorFraction = 128;

/// CUDA with several ranks, outside the allocator: what copies to each other's memory take; what
/// NCCL takes, where it is used, and what for each rank that a process sends to through it.
/// Measured for groups of two to four (docs/design/ranks.md); modelled for others.
inline constexpr std::int64_t kPeerCopiesBytes = std::int64_t{8} << 20;
inline constexpr std::int64_t kNcclBytes = std::int64_t{842} << 20;
inline constexpr std::int64_t kNcclBytesPerPeer = std::int64_t{386} << 20;

/// Edits that lead from the captured program to the one that is planned on.
struct Edits {
  std::string fingerprint;  ///< of the captured program
  std::vector<plan::Edit> edits;
};

/// The GPUs that are asked for. Up to 8 are in one machine, unless the request says otherwise.
[[nodiscard]] hardware::Ranks ranks_of(const Request& request);

class Problem {
 public:
  /// `program` is the edited one. Throws kProfileTargetMismatch when it was captured for another
  /// kind of device.
  Problem(const program::Program& program,
          const Edits& edits,
          const hardware::HardwareProfile& hardware,
          const Request& request);

  [[nodiscard]] const program::Program& program() const { return program_; }
  [[nodiscard]] const program::Lifetimes& lifetimes() const { return lifetimes_; }
  [[nodiscard]] const hardware::HardwareProfile& hardware() const { return hardware_; }
  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] bool on_cuda() const { return hardware_.device_kind == program::DeviceKind::kCuda; }
  [[nodiscard]] std::int64_t gpu_budget_bytes() const { return gpu_budget_bytes_; }
  /// Changes the GPU budget of this problem.
  void set_gpu_budget(std::int64_t bytes) { gpu_budget_bytes_ = bytes; }
  /// The host memory that one rank may use.
  [[nodiscard]] std::int64_t host_budget_bytes() const { return host_budget_bytes_; }
  [[nodiscard]] const hardware::Ranks& ranks() const { return ranks_; }
  /// Whether a rank has only a part of each chunk.
  [[nodiscard]] bool is_sharded() const { return ranks_.world > ranks_.replicas; }
  /// Empty with one rank.
  [[nodiscard]] std::string basis_of_collectives() const;
  [[nodiscard]] const schedule::ProgramNeeds& needs() const { return needs_; }
  /// Process memory outside the allocator and without page tables; 0 on the CPU device.
  [[nodiscard]] std::int64_t context_bytes() const { return context_bytes_; }
  /// Parameters in order of first use.
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }
  /// Sets of parameters that some call uses, each set once.
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& use_sets() const { return use_sets_; }

  /// A plan with everything except chunks, cache and predictions.
  [[nodiscard]] plan::Plan blank_plan(const std::string& strategy) const;
  /// The fewest cache blocks that work: the largest number of public chunks with home on the host
  /// that one call uses.
  [[nodiscard]] std::int64_t fewest_blocks(const plan::Plan& plan) const;
  /// Sets cache.block_bytes to the largest chunk that goes through the cache. Sets the number of
  /// blocks to `blocks`, but at least the fewest that work and at most the number of chunks that go
  /// through the cache.
  void set_cache(plan::Plan& plan, std::int64_t blocks) const;

  /// Lowers and simulates the plan, and fills `plan.predicted`.
  [[nodiscard]] Evaluated evaluate(plan::Plan plan, std::string description) const;
  /// Same, for a plan whose parameters are at `places`: its chunks need no names.
  [[nodiscard]] Evaluated evaluate(plan::Plan plan,
                                   const std::vector<plan::Place>& places,
                                   std::string description) const;
  /// What libraries keep on the device; part of every peak.
  [[nodiscard]] std::int64_t library_bytes() const { return device_changes_.library_bytes(); }
  /// The GPU budget for a device peak of `peak_bytes`, of which `static_bytes` are buffers, beside
  /// `host_bytes` of locked host memory.
  [[nodiscard]] std::int64_t gpu_memory_for(std::int64_t peak_bytes,
                                            std::int64_t static_bytes,
                                            std::int64_t host_bytes) const;
  /// Process memory outside the allocator beside these buffers; 0 on the CPU device.
  [[nodiscard]] std::int64_t context_bytes(std::int64_t static_bytes,
                                           std::int64_t host_bytes) const;
  [[nodiscard]] bool fits(const Evaluated& candidate) const;
  /// CUDA: sets `plan.process_bytes` by the simulated allocator, and raises `plan.gpu_memory_bytes`
  /// to that if it is more. Returns the increase: by how much the estimate was too small.
  std::int64_t verify(Evaluated& plan) const;
  /// CUDA only: says what limits the step of a plan that is found. Too slow for every candidate.
  void add_critical_path(Evaluated& plan) const;
  /// Says how far the predicted time of a plan that is found may be trusted.
  void add_uncertainty(Evaluated& plan) const;
  /// Raises all later estimates by `bytes`.
  void raise_guess(std::int64_t bytes) { guess_bytes_ += bytes; }

 private:
  const program::Program& program_;
  const Edits& edits_;
  const hardware::HardwareProfile& hardware_;
  const Request& request_;
  program::Lifetimes lifetimes_;
  schedule::ProgramNeeds needs_;
  schedule::DeviceChanges device_changes_;
  hardware::Ranks ranks_;
  hardware::CostModel cost_;
  schedule::OperatorCosts operator_costs_;
  std::vector<Item> items_;
  std::vector<std::vector<std::int32_t>> use_sets_;
  bool has_bf16_parameters_ = false;
  std::string edited_fingerprint_;  ///< empty without edits
  std::string hardware_fingerprint_;
  std::int64_t gpu_budget_bytes_ = 0, host_budget_bytes_ = 0, context_bytes_ = 0;
  bool copies_to_peers_ = false;
  std::int64_t guess_bytes_ = 0;  ///< beyond the floor and the fraction
  /// CUDA only. Scripts of the calls, made at the first use. Reserved bytes by sequence of
  /// requests, cached because many plans share a sequence.
  mutable std::vector<operators::CallScript> scripts_;
  mutable std::map<std::size_t, std::int64_t> reserved_bytes_;
};

/// The named baselines. Each gives one plan, whether it fits or not. nullopt: the strategy finds no
/// plan (its capacity is used up before it starts).
[[nodiscard]] std::optional<Evaluated> simple_plan(const Problem& problem);
[[nodiscard]] std::optional<Evaluated> minimum_waste_plan(const Problem& problem);
[[nodiscard]] std::optional<Evaluated> elixir_plan(const Problem& problem);

}  // namespace elixir::search
