// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/search_edited.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "search/layout.h"
#include "search/optimal.h"
#include "search/placements.h"
#include "search/problem.h"

namespace elixir::search {
namespace {

using Baseline = std::optional<Evaluated> (*)(const Problem&);
struct Named {
  const char* name;
  Baseline plan;
};
constexpr Named kBaselines[] = {
    {"minimum-waste", minimum_waste_plan},
    {"simple", simple_plan},
    {"elixir", elixir_plan},
};

Candidate summary_of(const Evaluated& evaluated) {
  return {.description = evaluated.description,
          .step_ns = evaluated.plan.predicted.step_ns,
          .peak_bytes = evaluated.simulation.device.bytes,
          .host_bytes = evaluated.simulation.host_bytes};
}

bool faster(const Evaluated& a, const Evaluated& b) {
  if (a.simulation.step_ns != b.simulation.step_ns) {
    return a.simulation.step_ns < b.simulation.step_ns;
  }
  if (a.gpu_memory_bytes != b.gpu_memory_bytes) return a.gpu_memory_bytes < b.gpu_memory_bytes;
  return a.simulation.host_bytes < b.simulation.host_bytes;
}

/// Plans that differ in nothing that is shown are one, whatever strategies they come from.
bool same(const Evaluated& a, const Evaluated& b) {
  return a.plan.predicted.step_ns == b.plan.predicted.step_ns &&
         a.gpu_memory_bytes == b.gpu_memory_bytes &&
         a.simulation.host_bytes == b.simulation.host_bytes;
}

/// Everything at home on the device.
Evaluated resident_plan(const Problem& problem) {
  plan::Plan plan = problem.blank_plan("optimal");
  // A chunk is a task of the update. A few are enough, and leave hardly any padding.
  constexpr std::int64_t kChunks = 32;
  std::int64_t bytes = 0;
  for (const Item& item : problem.items()) bytes += item.bytes;
  Layout layout = pack(singles(problem.items()), bytes / kChunks);
  for (Members& chunk : private_chunks(problem.items())) layout.push_back(std::move(chunk));
  plan.chunks = chunks_of(layout, problem.program(), plan);
  // If a rank has only a shard, every chunk keeps its block, so that it is gathered once.
  problem.set_cache(
      plan, plan::grid_of(plan).shards() > 1 ? static_cast<std::int64_t>(plan.chunks.size()) : 0);
  std::string description = fmt::format("{} chunks: all stay on the device", plan.chunks.size());
  return problem.evaluate(std::move(plan), std::move(description));
}

/// What a plan with everything on the device needs.
DeviceNeed all_on_device(const Problem& problem) {
  const Evaluated evaluated = resident_plan(problem);
  return {evaluated.simulation.device.bytes, evaluated.gpu_memory_bytes};
}

/// Puts a plan that moves nothing first, unless another one is faster beyond doubt: links and host
/// memory keep their promises less well than the device does.
void prefer_resident(std::vector<Evaluated>& plans) {
  const auto resident = std::find_if(plans.begin(), plans.end(), [](const Evaluated& evaluated) {
    return !moves_anything(evaluated.plan);
  });
  if (resident == plans.end()) return;
  const auto fastest_ns = static_cast<double>(plans.front().plan.predicted.step_ns);
  const auto resident_ns = static_cast<double>(resident->plan.predicted.step_ns);
  if (resident_ns <= fastest_ns * (1 + kPredictionDoubt)) {
    std::rotate(plans.begin(), resident, std::next(resident));
  }
}

Outcome found(const Problem& problem, std::vector<Evaluated> plans, std::int64_t candidates) {
  Found result;
  result.candidates = candidates;
  result.operators_measured = plans.front().simulation.operators_measured;
  result.operators_total = plans.front().simulation.operators_total;
  result.device_peak = plans.front().simulation.device;
  result.gpu_memory_bytes = plans.front().gpu_memory_bytes;
  result.process_bytes = problem.on_cuda() ? plans.front().process_bytes : result.gpu_memory_bytes;
  result.collectives = problem.basis_of_collectives();
  // The next best of the family is nearly the same plan: one is enough, the baselines tell more.
  bool family = false;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const auto before = plans.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(
            plans.begin(), before, [&](const Evaluated& other) { return same(other, plans[i]); })) {
      continue;
    }
    if (plans[i].plan.strategy == "optimal" && std::exchange(family, true)) continue;
    result.runners_up.push_back(summary_of(plans[i]));
  }
  result.description = std::move(plans.front().description);
  problem.add_critical_path(plans.front());
  problem.add_uncertainty(plans.front());
  result.plan = std::move(plans.front().plan);
  if (moves_anything(result.plan)) result.all_on_device = all_on_device(problem);
  return result;
}

/// Largest number of samples for which static and scaled dynamic memory fit; modelled, since
/// workspaces need not scale.
std::int64_t batch_that_fits(const Problem& problem, const Minima& minima) {
  const program::Program& program = problem.program();
  if (program.inputs.empty() || program.inputs.front().tensor.sizes.empty()) return 0;
  const std::int64_t batch = program.inputs.front().tensor.sizes.front();
  const std::int64_t over = minima.gpu_memory_bytes_any_host - problem.gpu_budget_bytes();
  const double share = problem.on_cuda() ? 1.0 + 1.0 / kAllocatorFraction : 1.0;
  const double per_sample =
      static_cast<double>(minima.dynamic_bytes) * share / static_cast<double>(batch);
  const double less = std::ceil(static_cast<double>(over) / std::max(per_sample, 1e-9));
  const double fewer = static_cast<double>(batch) - std::max(less, 1.0);
  return fewer >= 1 ? static_cast<std::int64_t>(fewer) : 0;
}

/// The same step in the fewest equal pieces of at most `fits` samples; empty when there are none.
std::string in_pieces(const Problem& problem, std::int64_t fits) {
  constexpr std::int64_t kMostSteps = 65536;
  const std::int64_t batch = problem.program().inputs.front().tensor.sizes.front();
  const std::int64_t steps = problem.request().accumulation_steps;
  for (std::int64_t pieces = 2; pieces * steps <= kMostSteps && pieces <= batch; ++pieces) {
    if (batch % pieces != 0 || batch / pieces > fits) continue;
    return fmt::format(
        "the same step in smaller pieces: profile with --batch {}, then search with "
        "--accumulation-steps {} (modelled: activations scale with the batch)",
        batch / pieces,
        pieces * steps);
  }
  return "";
}

/// A flag with a size that is enough to the byte.
std::string exact(const char* flag, std::int64_t bytes) {
  return fmt::format("{} {} ({})", flag, bytes, format_bytes(bytes));
}

Infeasible infeasible(const PlacementSpace& space) {
  const Problem& problem = space.problem();
  const Minima minima = find_minima(space);
  // Budgets of host memory are for a machine with all of its ranks.
  const int per_node = problem.ranks().per_node;
  Infeasible result;
  result.least_peak = minima.least_peak;
  result.minimum_needs_more_host = !minima.gpu_memory_bytes;
  result.minimum_gpu_memory_bytes =
      minima.gpu_memory_bytes.value_or(minima.gpu_memory_bytes_any_host);
  result.minimum_host_memory_bytes = minima.host_memory_bytes.value_or(0) * per_node;
  const bool host_would_help =
      minima.host_memory_bytes && *minima.host_memory_bytes > problem.host_budget_bytes();
  if (host_would_help) {
    result.binding_limit = BindingLimit::kHostMemory;
    result.shortfall_bytes = (*minima.host_memory_bytes - problem.host_budget_bytes()) * per_node;
    result.remedies.push_back({exact("--host-memory", result.minimum_host_memory_bytes)});
    if (minima.gpu_memory_bytes) {
      result.remedies.push_back({exact("--gpu-memory", *minima.gpu_memory_bytes)});
    }
    return result;
  }
  result.binding_limit = BindingLimit::kGpuMemory;
  result.shortfall_bytes = result.minimum_gpu_memory_bytes - problem.gpu_budget_bytes();
  result.remedies.push_back({exact("--gpu-memory", result.minimum_gpu_memory_bytes)});
  const std::int64_t batch = batch_that_fits(problem, minima);
  if (batch > 0) {
    const std::string pieces = in_pieces(problem, batch);
    if (!pieces.empty()) result.remedies.push_back({pieces});
    result.remedies.push_back({fmt::format(
        "a smaller step: profile with --batch {} (modelled: activations scale with it)", batch)});
  }
  if (minima.gpu_memory_bytes_any_host < result.minimum_gpu_memory_bytes) {
    result.remedies.push_back(
        {fmt::format("more host memory: with enough of it --gpu-memory {} ({}) is the least",
                     minima.gpu_memory_bytes_any_host,
                     format_bytes(minima.gpu_memory_bytes_any_host))});
  }
  return result;
}

/// A GPU budget at which a baseline finds a fitting plan and one byte less at which it does not,
/// above the problem's. Its plans depend on the budget, so that the need of one plan says nothing;
/// nullopt when no budget works.
std::optional<std::int64_t> least_budget(Problem problem, Baseline baseline) {
  const auto works = [&](std::int64_t bytes) {
    problem.set_gpu_budget(bytes);
    const std::optional<Evaluated> plan = baseline(problem);
    return plan && problem.fits(*plan);
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 44;
  std::int64_t fails = problem.gpu_budget_bytes();
  std::int64_t enough = std::max<std::int64_t>(2 * fails, 1_MiB);
  for (; !works(enough); enough *= 2) {
    if (enough > kMost) return std::nullopt;
    fails = enough;
  }
  while (enough - fails > 1) {
    throw_if_interrupted();
    const std::int64_t middle = fails + (enough - fails) / 2;
    (works(middle) ? enough : fails) = middle;
  }
  return enough;
}

/// A baseline's own plan does not fit: what it needs, and what the family of `optimal` could do
/// instead.
Infeasible baseline_infeasible(const Problem& problem,
                               const std::optional<Evaluated>& plan,
                               Baseline baseline) {
  const Minima minima = find_minima(PlacementSpace(problem));
  Infeasible result;
  const int per_node = problem.ranks().per_node;
  result.minimum_host_memory_bytes = plan ? plan->simulation.host_bytes * per_node : 0;
  if (plan && plan->gpu_memory_bytes <= problem.gpu_budget_bytes()) {
    result.binding_limit = BindingLimit::kHostMemory;
    result.minimum_gpu_memory_bytes = plan->gpu_memory_bytes;
    result.shortfall_bytes =
        result.minimum_host_memory_bytes - problem.host_budget_bytes() * per_node;
    result.remedies.push_back({exact("--host-memory", result.minimum_host_memory_bytes)});
    return result;
  }
  result.binding_limit = BindingLimit::kGpuMemory;
  const std::optional<std::int64_t> least = least_budget(problem, baseline);
  result.minimum_gpu_memory_bytes =
      least.value_or(minima.gpu_memory_bytes.value_or(minima.gpu_memory_bytes_any_host));
  result.shortfall_bytes =
      std::max<std::int64_t>(result.minimum_gpu_memory_bytes - problem.gpu_budget_bytes(), 1);
  if (least) result.remedies.push_back({exact("--gpu-memory", *least)});
  return result;
}

/// The best plans that fit with what the simulated allocator reserves for them. When it is more
/// than was guessed while they were compared, the guess is raised and the search starts again: what
/// the operators ask for hardly depends on the plan, so that one more search is nearly always
/// enough.
BestPlans verified_plans(Problem& problem, const PlacementSpace& space) {
  constexpr int kMostSearches = 8;
  Evaluated smallest = smallest_plan(space);
  problem.raise_guess(problem.verify(smallest));
  BestPlans verified;
  for (int i = 0; i < kMostSearches && verified.plans.empty(); ++i) {
    BestPlans best = best_plans(space);
    verified.candidates += best.candidates;
    if (best.plans.empty()) break;
    std::int64_t missing_bytes = 0;
    for (std::size_t p = 0; p < best.plans.size(); ++p) {
      const std::int64_t grown = problem.verify(best.plans[p]);
      if (problem.fits(best.plans[p])) {
        verified.plans.push_back(std::move(best.plans[p]));
      } else if (p == 0 && i + 1 < kMostSearches) {
        missing_bytes = grown;
        break;
      }
    }
    problem.raise_guess(missing_bytes);
  }
  return verified;
}

}  // namespace

bool moves_anything(const plan::Plan& plan) {
  return std::any_of(plan.chunks.begin(), plan.chunks.end(), [](const plan::Chunk& chunk) {
    return chunk.parameter_home == plan::Home::kHost || chunk.optimizer_home == plan::Home::kHost;
  });
}

Outcome search_edited(const program::Program& program,
                      const Edits& edits,
                      const hardware::HardwareProfile& hardware,
                      const Request& request) {
  Problem problem(program, edits, hardware, request);
  if (request.strategy == "optimal") {
    const PlacementSpace space(problem);
    BestPlans best = verified_plans(problem, space);
    if (best.plans.empty()) return infeasible(space);
    // All others may keep optimizer state on the device.
    if (request.optimizer_state == OptimizerState::kHost) {
      return found(problem, std::move(best.plans), best.candidates);
    }
    Evaluated resident = resident_plan(problem);
    ++best.candidates;
    problem.verify(resident);
    if (problem.fits(resident)) best.plans.push_back(std::move(resident));
    for (const Named& baseline : kBaselines) {
      std::optional<Evaluated> plan;
      try {
        plan = baseline.plan(problem);
      } catch (const Error& error) {  // it wants a figure that others can do without
        if (error.info().code != ErrorCode::kJsonMissingKey) throw;
      }
      ++best.candidates;
      if (plan) problem.verify(*plan);
      if (plan && problem.fits(*plan)) best.plans.push_back(std::move(*plan));
    }
    std::stable_sort(best.plans.begin(), best.plans.end(), faster);
    prefer_resident(best.plans);
    return found(problem, std::move(best.plans), best.candidates);
  }
  for (const Named& baseline : kBaselines) {
    if (request.strategy != baseline.name) continue;
    const auto planned = [&] {
      std::optional<Evaluated> one = baseline.plan(problem);
      if (one) problem.raise_guess(problem.verify(*one));
      return one;
    };
    std::optional<Evaluated> plan = planned();
    // Once more, with what is known of the allocator now.
    if (plan && !problem.fits(*plan)) plan = planned();
    if (!plan || !problem.fits(*plan)) {
      return baseline_infeasible(problem, plan, baseline.plan);
    }
    std::vector<Evaluated> plans;
    plans.push_back(std::move(*plan));
    return found(problem, std::move(plans), 1);
  }
  throw Error(ErrorCode::kBadFlagValue, "unknown strategy '{}'", request.strategy)
      .help("optimal, minimum-waste, simple or elixir");
}

}  // namespace elixir::search
