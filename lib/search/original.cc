// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The original's optimal_search: capacity from the activation peak, the chunk size that moves least
// under Belady's choice, then blocks or optimizer shards on the GPU, whichever a byte is worth more
// for. Rates are the machine's, or the original's A100 literals on request, of all ranks that share
// chunks together; the rules are in original_rules.h.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "hardware/rate_dtypes.h"
#include "search/original_rules.h"
#include "search/problem.h"

namespace elixir::search {
namespace {

constexpr double kActivationFragments = 1.25;
constexpr double kAllocatorShare = 0.95;
constexpr std::int64_t kDriverBytes = std::int64_t{2} << 30;
constexpr std::int64_t kFewestBlocks = 4;

/// Elements of the module with the most direct parameters, because the original copies them into a
/// separate buffer.
std::int64_t hook_buffer_elements(const program::Program& program) {
  std::map<std::string, std::int64_t> elements_of;
  for (const program::Parameter& parameter : program.parameters) {
    for (const std::string& name : parameter.names) {
      const std::size_t dot = name.rfind('.');
      elements_of[dot == std::string::npos ? "" : name.substr(0, dot)] += parameter.tensor.numel();
    }
  }
  std::int64_t most = 0;
  for (const auto& [module, elements] : elements_of) most = std::max(most, elements);
  return most;
}

/// The rate of one GPU while other GPUs of its machine copy, too: as many as were measured, at most
/// `per_node` in all.
double link_for(const std::vector<hardware::LinkRate>& links, int per_node) {
  const hardware::LinkRate* most = nullptr;
  for (const hardware::LinkRate& link : links) {
    if (link.gpus <= per_node && (most == nullptr || link.gpus > most->gpus)) most = &link;
  }
  if (most != nullptr) return most->bytes_per_s.median / most->gpus;
  throw Error(ErrorCode::kJsonMissingKey, "the hardware profile has no link rate for one GPU")
      .help("measure it: elixir-bench");
}

/// The rate of all processes of a machine together: as many as were measured, at most `per_node`.
double adam_for(const std::vector<hardware::AdamRate>& rates, program::DType dtype, int per_node) {
  // What is neither is looked up as half precision.
  const std::string_view known = hardware::kRateDTypes.name_of(dtype);
  const std::string_view wanted =
      known.empty() ? hardware::kRateDTypes.name_of(program::DType::kFloat16) : known;
  const hardware::AdamRate* most = nullptr;
  for (const hardware::AdamRate& rate : rates) {
    if (rate.dtype != wanted || rate.ranks > per_node) continue;
    if (most == nullptr || rate.ranks > most->ranks) most = &rate;
  }
  if (most != nullptr) return most->params_per_s.median;
  throw Error(ErrorCode::kJsonMissingKey, "the hardware profile has no AdamW rate for {}", wanted)
      .help("measure it: elixir-bench");
}

original::Rates measured_rates(const Problem& problem, program::DType dtype, int ranks) {
  const hardware::HardwareProfile& hardware = problem.hardware();
  const int per_node = problem.ranks().per_node;
  original::Rates rates;
  rates.cpu_to_gpu = ranks * link_for(hardware.links.host_to_device, per_node);
  rates.gpu_to_cpu = ranks * link_for(hardware.links.device_to_host, per_node);
  rates.cpu_adam = ranks * adam_for(hardware.adam_cpu, dtype, per_node) /
                   hardware::ranks_on_one_host(hardware, problem.ranks());
  rates.gpu_adam =
      problem.on_cuda() ? ranks * adam_for(hardware.adam_gpu, dtype, 1) : rates.cpu_adam;
  return rates;
}

/// The parameters of every forward call that has some, in operand order; then the same in reverse
/// order.
std::vector<std::vector<std::int32_t>> steps_of(const Problem& problem,
                                                const std::vector<std::int32_t>& index_of) {
  const program::Program& program = problem.program();
  std::vector<std::int32_t> parameter_of(program.storages.size(), -1);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    parameter_of[program.parameters[i].tensor.storage] = static_cast<std::int32_t>(i);
  }
  std::vector<std::vector<std::int32_t>> steps;
  for (const program::Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward || !problem.lifetimes().executed[op.id]) continue;
    std::vector<std::int32_t> step;
    program::for_each_tensor(op.arguments, [&](const program::TensorRef& tensor) {
      const std::int32_t parameter = parameter_of[tensor.storage];
      if (parameter < 0 || index_of[parameter] < 0) return;
      if (std::find(step.begin(), step.end(), index_of[parameter]) == step.end()) {
        step.push_back(index_of[parameter]);
      }
    });
    if (!step.empty()) steps.push_back(std::move(step));
  }
  const std::size_t forward = steps.size();
  for (std::size_t i = forward; i-- > 0;) {
    std::vector<std::int32_t> again = steps[i];
    steps.push_back(std::move(again));
  }
  return steps;
}

/// Peak bytes of activations, temporaries and outputs when gradients leave at once.
std::int64_t activation_bytes(const Problem& problem) {
  plan::Plan plan = problem.blank_plan("elixir");
  plan.world = plan.ranks_per_node = plan.replicas = 1;  // as the original profiles it
  Layout layout = pack(singles(problem.items()), 0);
  for (Members& chunk : private_chunks(problem.items())) layout.push_back(std::move(chunk));
  plan.chunks = chunks_of(layout, problem.program(), plan);
  for (plan::Chunk& chunk : plan.chunks) {
    chunk.gradient_home = chunk.optimizer_home = plan::Home::kHost;
  }
  const Evaluated all = problem.evaluate(std::move(plan), "");
  std::int64_t fixed_bytes = 0;
  using program::Category;
  for (const Category category : {Category::kParameter, Category::kBuffer, Category::kInput}) {
    fixed_bytes += all.simulation.device.by_category_bytes[static_cast<std::size_t>(category)];
  }
  return all.simulation.device.bytes - fixed_bytes;
}

/// The plan by the original's rules, with that peak of activations, and `unknown_bytes` less for
/// its cache and state than they count.
std::optional<Evaluated> plan_by_rules(const Problem& problem,
                                       std::int64_t activation_peak_bytes,
                                       std::int64_t unknown_bytes) {
  const program::Program& program = problem.program();
  const bool literals = problem.request().elixir_constants;
  const int ranks = problem.ranks().world / problem.ranks().replicas;  // that share a chunk

  std::vector<std::int64_t> sizes;
  std::vector<std::int32_t> index_of(program.parameters.size(), -1);
  std::int64_t private_elements = 0;
  // Of what trains: a frozen parameter may have a dtype that no update has a rate for.
  program::DType dtype = program::DType::kFloat32;
  for (const Item& item : problem.items()) {
    const program::Parameter& parameter = program.parameters[item.parameter];
    if (parameter.gradient) dtype = parameter.tensor.dtype;
  }
  const std::int64_t element_bytes = program::element_bytes(dtype);
  for (const Item& item : problem.items()) {
    if (item.tied) {
      private_elements += item.bytes / element_bytes;
      continue;
    }
    index_of[item.parameter] = static_cast<std::int32_t>(sizes.size());
    sizes.push_back(item.bytes / element_bytes);
  }

  // Capacity in elements.
  std::int64_t module_buffer_bytes = 0;
  for (const program::Buffer& buffer : program.buffers) {
    module_buffer_bytes += buffer.tensor.bytes();
  }
  const std::int64_t driver_bytes = literals ? kDriverBytes : problem.context_bytes();
  const double capacity_bytes =
      kAllocatorShare *
          (static_cast<double>(problem.gpu_budget_bytes() - driver_bytes - module_buffer_bytes) -
           kActivationFragments * static_cast<double>(activation_peak_bytes)) -
      static_cast<double>(unknown_bytes);
  std::int64_t left =
      static_cast<std::int64_t>(capacity_bytes) / element_bytes - hook_buffer_elements(program);
  if (capacity_bytes < 0 || left < 0) return std::nullopt;
  left -= private_elements;
  if (left < 0) return std::nullopt;

  const auto choice = original::choose_chunks(
      sizes, steps_of(problem, index_of), left, element_bytes, ranks, /*overlap=*/false);
  if (!choice) return std::nullopt;

  plan::Plan plan = problem.blank_plan("elixir");
  const std::int64_t chunk_bytes = choice->chunk_size * element_bytes;
  Layout layout;
  if (!sizes.empty()) layout = pack(singles(problem.items()), chunk_bytes);
  for (Members& chunk : layout) chunk.bytes = chunk_bytes;
  for (Members& chunk : private_chunks(problem.items())) layout.push_back(std::move(chunk));
  plan.chunks = chunks_of(layout, program, plan);

  // Blocks or optimizer shards first.
  constexpr int kMoments = 2;
  const double factor = original::optimizer_factor(kMoments, element_bytes);
  const original::Rates rates =
      literals ? original::a100_rates(ranks) : measured_rates(problem, dtype, ranks);
  const original::Values values = original::values(rates, ranks, factor, element_bytes);
  const bool blocks_first = values.block > values.optimizer;
  std::int64_t blocks = blocks_first ? choice->blocks : std::min(choice->blocks, kFewestBlocks);
  left -= blocks * choice->chunk_size;
  for (plan::Chunk& chunk : plan.chunks) {
    const std::int64_t elements = chunk.bytes / program::element_bytes(chunk.dtype);
    const auto shard = static_cast<std::int64_t>(factor * static_cast<double>(elements)) / ranks;
    const plan::Home home = left >= shard ? plan::Home::kDevice : plan::Home::kHost;
    if (home == plan::Home::kDevice) left -= shard;
    chunk.parameter_home = chunk.gradient_home = chunk.optimizer_home = home;
  }
  if (!blocks_first && choice->chunk_size > 0) {
    blocks += std::min(left / choice->chunk_size, choice->blocks - blocks);
  }
  problem.set_cache(plan, blocks);
  return problem.evaluate(std::move(plan),
                          fmt::format("elixir: chunk {}, {} block{}, {} first",
                                      format_bytes(chunk_bytes),
                                      blocks,
                                      blocks == 1 ? "" : "s",
                                      blocks_first ? "cache" : "optimizer"));
}

}  // namespace

std::optional<Evaluated> elixir_plan(const Problem& problem) {
  const std::int64_t activation_peak_bytes = activation_bytes(problem);
  std::optional<Evaluated> plan = plan_by_rules(problem, activation_peak_bytes, 0);
  if (!problem.is_sharded()) return plan;
  // The original adds gradients up in the parameters' place, and knows of no buffers for what ranks
  // send. How much these buffers take is learned from the plan that turns out too large.
  constexpr int kMostRounds = 8;
  std::int64_t unknown_bytes = 0;
  for (int round = 0; round < kMostRounds && plan; ++round) {
    const std::int64_t missing_bytes = plan->gpu_memory_bytes - problem.gpu_budget_bytes();
    if (missing_bytes <= 0) break;
    unknown_bytes += missing_bytes + plan->plan.cache.block_bytes;
    std::optional<Evaluated> smaller = plan_by_rules(problem, activation_peak_bytes, unknown_bytes);
    if (!smaller) break;
    plan = std::move(smaller);
  }
  return plan;
}

}  // namespace elixir::search
