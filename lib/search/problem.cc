// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/problem.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "memory/step/training_events.h"
#include "schedule/buffers/buffers.h"
#include "schedule/memory/operator_memory.h"
#include "schedule/simulate/critical_path.h"
#include "schedule/simulate/uncertainty.h"

namespace elixir::search {
namespace {

/// The part of a machine's host memory that one of its ranks may use.
std::int64_t host_memory_of(const hardware::HardwareProfile& hardware,
                            const Request& request,
                            const hardware::Ranks& ranks) {
  if (request.host_memory_bytes) return *request.host_memory_bytes / ranks.per_node;
  return hardware.machine.host_memory_bytes / hardware::ranks_on_one_host(hardware, ranks);
}

/// What exchanges take of a GPU outside the allocator. `copies`: they are copies, not NCCL's. NCCL
/// takes its part for all ranks together and, where they hold several replicas, for each group that
/// holds one and each that has the same shard.
std::int64_t exchange_bytes(const hardware::Ranks& ranks, bool copies, plan::Reduce reduce) {
  if (ranks.world == 1) return 0;
  if (copies && reduce == plan::Reduce::kOrdered) return kPeerCopiesBytes;
  const bool groups = ranks.replicas > 1 && ranks.replicas < ranks.world;
  return kNcclBytes * (groups ? 3 : 1) +
         (copies ? kPeerCopiesBytes : kNcclBytesPerPeer * (ranks.world - 1));
}

}  // namespace

hardware::Ranks ranks_of(const Request& request) {
  constexpr int kMostInOne = 8;  // a common machine
  return {.world = request.gpus,
          .per_node = request.gpus_per_node.value_or(request.gpus % kMostInOne == 0 ? kMostInOne
                                                                                    : request.gpus),
          .replicas = request.replicas,
          .network_bytes_per_s = static_cast<double>(request.network_bytes_per_s)};
}

Problem::Problem(const program::Program& program,
                 const Edits& edits,
                 const hardware::HardwareProfile& hardware,
                 const Request& request)
    : program_(program),
      edits_(edits),
      hardware_(hardware),
      request_(request),
      lifetimes_(program::analyse_lifetimes(program)),
      needs_(schedule::program_needs(program, lifetimes_, /*training=*/true)),
      device_changes_(program, lifetimes_),
      ranks_(ranks_of(request)),
      cost_(hardware, ranks_) {
  const program::Target of_hardware = hardware::target_of(hardware);
  if (!of_hardware.goes_with(program.target)) {
    const std::string machine = of_hardware.text();
    throw Error(ErrorCode::kProfileTargetMismatch,
                "the program was captured for {}, hardware profile `{}` is of {}",
                program.target.text(),
                hardware.name,
                machine)
        .help("profile again with --target {}", machine)
        .help("or plan for hardware of that target");
  }
  operator_costs_ = schedule::operator_costs(program, lifetimes_, cost_);
  items_ = items_of(program, program::order_of_first_use(program, lifetimes_));
  std::set<std::vector<std::int32_t>> sets;
  for (const std::vector<std::int32_t>& used : lifetimes_.parameters_used) {
    if (!used.empty()) sets.insert(used);
  }
  use_sets_.assign(sets.begin(), sets.end());
  has_bf16_parameters_ =
      std::any_of(program.parameters.begin(), program.parameters.end(), [](const auto& parameter) {
        return parameter.tensor.dtype == program::DType::kBFloat16;
      });
  if (!edits_.edits.empty()) edited_fingerprint_ = program::fingerprint(program);
  hardware_fingerprint_ = hardware::fingerprint(hardware);
  host_budget_bytes_ = host_memory_of(hardware, request, ranks_);
  if (on_cuda()) {
    const hardware::Gpu& gpu = hardware.gpus.front();
    copies_to_peers_ = ranks_.world == ranks_.per_node && cost_.collectives().copies();
    context_bytes_ = gpu.context_bytes + exchange_bytes(ranks_, copies_to_peers_, request.reduce);
    gpu_budget_bytes_ = request.gpu_memory_bytes.value_or(gpu.memory_bytes);
  } else {
    gpu_budget_bytes_ =
        request.gpu_memory_bytes.value_or(hardware.machine.host_memory_bytes / ranks_.per_node);
  }
}

std::string Problem::basis_of_collectives() const {
  if (ranks_.world == 1 || !on_cuda()) return "";
  const std::string basis = cost_.collectives().basis();
  return request_.reduce == plan::Reduce::kNccl
             ? basis + "; reduce-scatters modelled as all-gathers through NCCL"
             : basis;
}

plan::Plan Problem::blank_plan(const std::string& strategy) const {
  plan::Plan plan;
  plan.programs = {{.role = "train", .fingerprint = edits_.fingerprint}};
  plan.edits = edits_.edits;
  plan.edited_fingerprint = edited_fingerprint_;
  plan.hardware = {.fingerprint = hardware_fingerprint_,
                   .device_kind = hardware_.device_kind,
                   .sm = on_cuda() ? hardware_.gpus.front().sm : 0,
                   .isa = program_.target.isa,
                   .cpu_threads = hardware_.machine.threads};
  plan.strategy = strategy;
  plan.world = ranks_.world;
  plan.ranks_per_node = ranks_.per_node;
  plan.replicas = ranks_.replicas;
  plan.reduce = request_.reduce;
  plan.reduce_dtype = request_.reduce_dtype;
  plan.reduce_per = request_.reduce_per;
  plan.budgets = {.gpu_memory_bytes = gpu_budget_bytes_,
                  .host_memory_bytes = host_budget_bytes_,
                  .gpu_context_bytes = context_bytes_};
  plan.precision = program_.precision;
  plan.optimizer = request_.optimizer;
  plan.accumulation_steps = request_.accumulation_steps;
  plan.clips_gradients = request_.clip_gradients;
  // Split masters take fewer bytes wherever parameters and state share a home, and have the same
  // bits.
  if (has_bf16_parameters_) plan.master = plan::Master::kSplit;
  plan.moment_dtype = request_.moment_dtype;
  plan.beta2 = plan::beta2_of(plan.moment_dtype);
  return plan;
}

std::int64_t Problem::fewest_blocks(const plan::Plan& plan) const {
  const std::vector<plan::Place> places = plan::locate_parameters(plan, program_);
  std::size_t most = 0;
  std::vector<std::int32_t> chunks;
  for (const std::vector<std::int32_t>& used : use_sets_) {
    chunks.clear();
    for (const std::int32_t parameter : used) {
      const std::int32_t id = places[parameter].chunk;
      const plan::Chunk& chunk = plan.chunks[id];
      if (!plan::needs_block(plan, chunk) || chunk.kind == plan::Chunk::Kind::kPrivate ||
          std::find(chunks.begin(), chunks.end(), id) != chunks.end()) {
        continue;
      }
      chunks.push_back(id);
    }
    most = std::max(most, chunks.size());
  }
  return static_cast<std::int64_t>(most);
}

void Problem::set_cache(plan::Plan& plan, std::int64_t blocks) const {
  plan.cache.block_bytes = 0;
  std::int64_t cached = 0;
  for (const plan::Chunk& chunk : plan.chunks) {
    if (!plan::needs_block(plan, chunk) || chunk.kind == plan::Chunk::Kind::kPrivate) {
      continue;
    }
    ++cached;
    plan.cache.block_bytes = std::max(plan.cache.block_bytes, chunk.bytes);
  }
  // A chunk on the host needs a block even if no call uses it, because check_against() requires
  // one.
  const std::int64_t fewest = std::max(fewest_blocks(plan), std::int64_t{cached > 0 ? 1 : 0});
  plan.cache.blocks = std::clamp(blocks, fewest, std::max(fewest, cached));
}

std::int64_t Problem::gpu_memory_for(std::int64_t peak_bytes,
                                     std::int64_t static_bytes,
                                     std::int64_t host_bytes) const {
  if (!on_cuda()) return peak_bytes;
  const std::int64_t dynamic_bytes = peak_bytes - static_bytes - library_bytes();
  return context_bytes(static_bytes, host_bytes) + peak_bytes + kAllocatorFloorBytes +
         dynamic_bytes / kAllocatorFraction + guess_bytes_;
}

std::int64_t Problem::context_bytes(std::int64_t static_bytes, std::int64_t host_bytes) const {
  if (!on_cuda()) return 0;
  // To copy to the others, a process maps their buffers, which are as large as its own.
  const std::int64_t mapped_bytes = copies_to_peers_ ? (ranks_.world - 1) * static_bytes : 0;
  return context_bytes_ + schedule::page_table_bytes(host_bytes) +
         schedule::page_table_bytes(mapped_bytes);
}

Evaluated Problem::evaluate(plan::Plan plan, std::string description) const {
  const std::vector<plan::Place> places = plan::locate_parameters(plan, program_);
  return evaluate(std::move(plan), places, std::move(description));
}

Evaluated Problem::evaluate(plan::Plan plan,
                            const std::vector<plan::Place>& places,
                            std::string description) const {
  Evaluated result;
  result.description = std::move(description);
  result.simulation = schedule::lower_and_simulate(program_,
                                                   lifetimes_,
                                                   needs_,
                                                   device_changes_,
                                                   plan,
                                                   places,
                                                   {.clip_gradients = request_.clip_gradients},
                                                   cost_,
                                                   operator_costs_);
  const std::int64_t host_bytes = result.simulation.host_bytes;
  result.gpu_memory_bytes = gpu_memory_for(
      result.simulation.device.bytes, result.simulation.device_buffer_bytes, host_bytes);
  plan.budgets.gpu_context_bytes = context_bytes(result.simulation.device_buffer_bytes, host_bytes);
  const auto whole = [](double ns) { return static_cast<std::int64_t>(std::llround(ns)); };
  plan.predicted = {};
  plan.predicted.step_ns = whole(result.simulation.step_ns);
  for (int s = 0; s < schedule::kStreamCount; ++s) {
    const auto stream = static_cast<schedule::Stream>(s);
    if (schedule::is_between_ranks(stream) && ranks_.world == 1) continue;
    plan.predicted.streams.push_back({.stream = std::string(schedule::name_of(stream)),
                                      .busy_ns = whole(result.simulation.busy_ns[s])});
  }
  plan.predicted.peak_allocated_bytes = result.simulation.device.bytes;
  plan.predicted.host_bytes = result.simulation.host_bytes;
  plan.predicted.operators_measured = result.simulation.operators_measured;
  plan.predicted.operators_total = result.simulation.operators_total;
  plan.predicted.traffic = result.simulation.traffic;
  result.plan = std::move(plan);
  return result;
}

void Problem::add_critical_path(Evaluated& plan) const {
  if (!on_cuda()) return;
  const schedule::Schedule schedule =
      schedule::lower(program_, lifetimes_, plan.plan, {.clip_gradients = request_.clip_gradients});
  const schedule::CriticalPath path =
      schedule::critical_path(schedule, plan.simulation.tasks, plan.simulation.step_ns);
  for (plan::StreamTime& time : plan.plan.predicted.streams) {
    for (int s = 0; s < schedule::kStreamCount; ++s) {
      if (time.stream != schedule::name_of(static_cast<schedule::Stream>(s))) continue;
      time.critical_ns = std::llround(path.by_stream_ns[static_cast<std::size_t>(s)]);
    }
  }
}

void Problem::add_uncertainty(Evaluated& plan) const {
  plan::Predicted& predicted = plan.plan.predicted;
  const schedule::Uncertainty found =
      schedule::uncertainty(program_, lifetimes_, plan.plan, predicted.traffic, hardware_);
  predicted.spread = found.spread;
  predicted.disturbed = found.disturbed;
}

std::int64_t Problem::verify(Evaluated& plan) const {
  if (!on_cuda()) return 0;
  if (scripts_.empty()) scripts_ = schedule::replay_scripts(program_);
  constexpr int kDifferentSteps = 2;  // the first one allocates what stays
  const schedule::Schedule schedule =
      schedule::lower(program_, lifetimes_, plan.plan, {.clip_gradients = request_.clip_gradients});
  const memory::TrainingEvents events =
      schedule::operator_events(schedule, program_, lifetimes_, scripts_, kDifferentSteps);
  std::size_t sequence = 0;
  for (const memory::TrainingEvent& event : events.events) {
    const auto next = static_cast<std::size_t>(event.allocation) * 2 + (event.frees ? 1 : 0);
    sequence = (sequence ^ next) * 0x100000001B3U;
  }
  const auto [reserved, fresh] = reserved_bytes_.try_emplace(sequence, 0);
  if (fresh) reserved->second = schedule::operator_memory(events).peak_reserved_bytes;
  // Workspaces that are only bounded count as allocated, but are not requests of the simulated
  // allocator.
  const std::int64_t held_bytes = std::max(
      schedule::buffer_bytes(schedule.buffers, schedule::Arena::kDevice) + reserved->second,
      plan.simulation.device.bytes);
  plan.process_bytes = plan.plan.budgets.gpu_context_bytes + held_bytes;
  const std::int64_t guessed =
      std::exchange(plan.gpu_memory_bytes, std::max(plan.gpu_memory_bytes, plan.process_bytes));
  return plan.gpu_memory_bytes - guessed;
}

bool Problem::fits(const Evaluated& candidate) const {
  return candidate.gpu_memory_bytes <= gpu_budget_bytes_ &&
         candidate.simulation.host_bytes <= host_budget_bytes_;
}

}  // namespace elixir::search
