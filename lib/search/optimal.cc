// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/optimal.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/interrupt.h"
#include "core/units.h"

namespace elixir::search {
namespace {

using plan::Chunk;
using plan::Home;

/// Everything at home on the device, parameters alone, or nothing.
enum class State : std::uint8_t { kResident, kStreamedOptimizer, kStreamed };

std::int64_t rounded(std::int64_t bytes) {
  return round_up(bytes, schedule::kAllocationRoundingBytes);
}

/// One way of packing, as a plan without homes, with the largest chunks that must not go through
/// the cache.
struct Packing {
  std::vector<Chunk> chunks;
  std::vector<bool> trained;
  std::vector<bool> outlier;
  std::int64_t capacity_bytes = 0;
};

/// A member of the family.
struct Choice {
  std::size_t packing = 0;
  std::size_t resident = 0;            ///< chunks from the front
  std::size_t streamed_optimizer = 0;  ///< chunks behind them
  std::int64_t blocks = 0;
  std::int64_t gradient_window_bytes = 0;
  auto operator<=>(const Choice&) const = default;
};

class Family {
 public:
  explicit Family(const Problem& problem) : problem_(problem) {
    for (const auto* storages : {&problem.program().storages}) {
      for (const program::Storage& storage : *storages) {
        const program::Origin origin = problem.lifetimes().storages[storage.id].origin;
        const bool constant = origin == program::Origin::kConstant && !storage.on_host;
        if (origin == program::Origin::kBuffer || origin == program::Origin::kInput || constant) {
          fixed_bytes_ += rounded(storage.bytes);
        }
      }
    }
    trains_ = problem.request().optimizer != "none";
    make_packings();
    dynamic_bytes_ = dynamic_bytes_of(smallest(), 0);
  }

  [[nodiscard]] const std::vector<Packing>& packings() const { return packings_; }

  [[nodiscard]] State state_of(const Choice& choice, std::size_t chunk) const {
    const Packing& packing = packings_[choice.packing];
    if (chunk < choice.resident) return State::kResident;
    if (chunk < choice.resident + choice.streamed_optimizer) return State::kStreamedOptimizer;
    // A private chunk has a place on the device for the whole step in any case.
    const bool stays =
        packing.outlier[chunk] || packing.chunks[chunk].kind == Chunk::Kind::kPrivate;
    return stays ? State::kStreamedOptimizer : State::kStreamed;
  }

  [[nodiscard]] plan::Plan plan_of(const Choice& choice) const {
    plan::Plan plan = problem_.blank_plan("optimal");
    plan.chunks = packings_[choice.packing].chunks;
    for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
      const State state = state_of(choice, c);
      Chunk& chunk = plan.chunks[c];
      chunk.parameter_home = state == State::kStreamed ? Home::kHost : Home::kDevice;
      chunk.gradient_home = chunk.optimizer_home =
          state == State::kResident ? Home::kDevice : Home::kHost;
    }
    plan.cache.gradient_window_bytes = choice.gradient_window_bytes;
    problem_.set_cache(plan, choice.blocks);
    return plan;
  }

  [[nodiscard]] Evaluated evaluate(const Choice& choice) const {
    plan::Plan plan = plan_of(choice);
    std::string description = describe(plan);
    return problem_.evaluate(std::move(plan), std::move(description));
  }

  /// GPU budget that a choice needs when the operators' own memory peaks at `dynamic_bytes`.
  [[nodiscard]] std::int64_t gpu_memory_of(const Choice& choice, std::int64_t dynamic_bytes) const {
    const std::int64_t fixed = device_bytes(choice);
    return problem_.gpu_memory_for(fixed + dynamic_bytes, fixed);
  }

  /// Peak of operators' storages under a gradient window, all gradients going to the host.
  [[nodiscard]] std::int64_t dynamic_bytes_of(const Choice& base, std::int64_t window_bytes) const {
    Choice choice = base;
    choice.gradient_window_bytes = window_bytes;
    const Evaluated evaluated = evaluate(choice);
    return evaluated.simulation.device.bytes - device_bytes(choice);
  }

  /// Static device bytes: what make_buffers() of lower.cc allocates for such a plan.
  [[nodiscard]] std::int64_t device_bytes(const Choice& choice) const {
    const Packing& packing = packings_[choice.packing];
    std::int64_t bytes = fixed_bytes_;
    std::int64_t largest = 0;
    std::int64_t streamed = 0;
    for (std::size_t c = 0; c < packing.chunks.size(); ++c) {
      const Chunk& chunk = packing.chunks[c];
      const State state = state_of(choice, c);
      if (state == State::kStreamed) {
        largest = std::max(largest, chunk.bytes);
        ++streamed;
        continue;
      }
      bytes += rounded(chunk.bytes);
      if (state != State::kResident || !packing.trained[c]) continue;
      const std::int64_t state_bytes = rounded(plan::bytes_as(chunk, program::DType::kFloat32));
      bytes += rounded(plan::bytes_as(chunk, chunk.gradient_dtype));
      if (chunk.dtype != program::DType::kFloat32) bytes += state_bytes;
      if (problem_.request().optimizer != "sgd") bytes += 2 * state_bytes;
    }
    if (streamed == 0) return bytes;
    const std::int64_t blocks = std::clamp(choice.blocks, fewest_blocks(choice), streamed);
    return bytes + blocks * rounded(largest);
  }

  [[nodiscard]] std::int64_t fewest_blocks(const Choice& choice) const {
    Choice counted = choice;
    counted.blocks = 0;
    return plan_of(counted).cache.blocks;
  }

  /// Everything streamed, one block or as few as work, in the packing where that takes least.
  [[nodiscard]] Choice smallest() const {
    Choice best;
    std::int64_t best_bytes = std::numeric_limits<std::int64_t>::max();
    for (std::size_t p = 0; p < packings_.size(); ++p) {
      const Choice choice{.packing = p};
      const std::int64_t bytes = device_bytes(choice);
      if (bytes < best_bytes) {
        best = choice;
        best_bytes = bytes;
      }
    }
    return best;
  }

  [[nodiscard]] std::int64_t dynamic_bytes() const { return dynamic_bytes_; }

 private:
  void add_packing(Layout layout, std::int64_t capacity_bytes) {
    for (Members& chunk : private_chunks(problem_.items())) layout.push_back(std::move(chunk));
    Packing packing;
    packing.capacity_bytes = capacity_bytes;
    packing.chunks = chunks_of(layout, problem_.program(), problem_.request().accumulation_steps);
    for (const Members& members : layout) {
      packing.trained.push_back(
          trains_ &&
          problem_.program().parameters[members.items.front().parameter].gradient.has_value());
    }
    packing.outlier.assign(packing.chunks.size(), false);
    for (const Packing& other : packings_) {
      if (same_chunks(other, packing)) return;
    }
    packings_.push_back(std::move(packing));
    find_outliers(packings_.size() - 1);
  }

  static bool same_chunks(const Packing& a, const Packing& b) {
    return a.chunks.size() == b.chunks.size() &&
           std::equal(a.chunks.begin(),
                      a.chunks.end(),
                      b.chunks.begin(),
                      [](const Chunk& x, const Chunk& y) {
                        return x.bytes == y.bytes && x.parameters.size() == y.parameters.size();
                      });
  }

  /// Keeps the largest chunks off the cache as long as that makes the smallest plan smaller.
  void find_outliers(std::size_t index) {
    Packing& packing = packings_[index];
    std::vector<std::size_t> by_size;
    for (std::size_t c = 0; c < packing.chunks.size(); ++c) {
      if (packing.chunks[c].kind == Chunk::Kind::kPublic) by_size.push_back(c);
    }
    std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
      return packing.chunks[a].bytes > packing.chunks[b].bytes;
    });
    std::int64_t best_bytes = device_bytes({.packing = index});
    std::size_t best_count = 0;
    const std::size_t most = std::min<std::size_t>(by_size.size(), kMostOutliers);
    for (std::size_t count = 1; count <= most; ++count) {
      packing.outlier[by_size[count - 1]] = true;
      const std::int64_t bytes = device_bytes({.packing = index});
      if (bytes < best_bytes) {
        best_bytes = bytes;
        best_count = count;
      }
    }
    for (std::size_t count = best_count; count < most; ++count) {
      packing.outlier[by_size[count]] = false;
    }
  }

  void make_packings() {
    const std::vector<Item>& items = problem_.items();
    const std::vector<std::vector<Item>> together = used_together(items, problem_.lifetimes());
    std::int64_t total = 0;
    for (const std::vector<Item>& group : together) {
      for (const Item& item : group) total += item.bytes;
    }
    add_packing(pack(together, 0), 0);
    add_packing(pack(singles(items), 0), 0);
    for (const std::int64_t parts : {64, 32, 16, 8, 4}) {
      add_packing(pack(together, total / parts), total / parts);
    }
  }

  [[nodiscard]] std::string describe(const plan::Plan& plan) const {
    std::int64_t resident = 0;
    std::int64_t streamed = 0;
    std::int64_t largest = 0;
    for (const Chunk& chunk : plan.chunks) {
      largest = std::max(largest, chunk.bytes);
      if (chunk.optimizer_home == Home::kDevice) ++resident;
      if (chunk.parameter_home == Home::kHost) ++streamed;
    }
    return fmt::format(
        "{} chunks of up to {}: {} stay on the device whole, {} come from the host through {} "
        "blocks, {} of gradients on their way",
        plan.chunks.size(),
        format_bytes(largest),
        resident,
        streamed,
        plan.cache.blocks,
        format_bytes(plan.cache.gradient_window_bytes));
  }

  static constexpr std::size_t kMostOutliers = 8;

  const Problem& problem_;
  bool trains_ = true;
  std::int64_t fixed_bytes_ = 0, dynamic_bytes_ = 0;
  std::vector<Packing> packings_;
};

/// The smallest plan, then one more chunk resident at a time: from least device and most host
/// memory to the reverse.
struct Link {
  Choice choice;
  std::int64_t gpu_memory_bytes = 0, host_bytes = 0;
};

std::int64_t host_bytes_of(const Problem& problem, const Family& family, const Choice& choice) {
  const schedule::Schedule schedule =
      schedule::lower(problem.program(),
                      problem.lifetimes(),
                      family.plan_of(choice),
                      {.clip_gradients = problem.request().clip_gradients});
  std::int64_t bytes = 0;
  for (const schedule::Buffer& buffer : schedule.buffers) {
    if (buffer.arena == schedule::Arena::kHost) bytes += rounded(buffer.bytes);
  }
  return bytes;
}

std::vector<Link> chain_of(const Problem& problem, const Family& family) {
  std::vector<Link> chain;
  Choice choice = family.smallest();
  const std::size_t chunks = family.packings()[choice.packing].chunks.size();
  for (choice.resident = 0; choice.resident <= chunks; ++choice.resident) {
    throw_if_interrupted();
    chain.push_back({.choice = choice,
                     .gpu_memory_bytes = family.gpu_memory_of(choice, family.dynamic_bytes()),
                     .host_bytes = host_bytes_of(problem, family, choice)});
  }
  return chain;
}

/// The chain's member that needs least of the device under the host budget.
std::optional<Link> least_device(const std::vector<Link>& chain, std::int64_t host_budget_bytes) {
  std::optional<Link> best;
  for (const Link& link : chain) {
    if (link.host_bytes > host_budget_bytes) continue;
    if (!best || link.gpu_memory_bytes < best->gpu_memory_bytes) best = link;
  }
  return best;
}

std::optional<Link> least_host(const std::vector<Link>& chain, std::int64_t gpu_budget_bytes) {
  std::optional<Link> best;
  for (const Link& link : chain) {
    if (link.gpu_memory_bytes > gpu_budget_bytes) continue;
    if (!best || link.host_bytes < best->host_bytes) best = link;
  }
  return best;
}

/// Evaluates choices once each and keeps those that fit.
class Race {
 public:
  Race(const Problem& problem, const Family& family) : problem_(problem), family_(family) {}

  /// Step time, or infinity when it does not fit.
  double run(const Choice& choice) {
    const auto seen = times_.find(key(choice));
    if (seen != times_.end()) return seen->second;
    throw_if_interrupted();
    Evaluated evaluated = family_.evaluate(choice);
    ++candidates_;
    const bool fits = problem_.fits(evaluated);
    const double time =
        fits ? evaluated.simulation.step_ns : std::numeric_limits<double>::infinity();
    times_.emplace(key(choice), time);
    if (fits) {
      kept_.push_back({choice, std::move(evaluated)});
      std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
        return std::make_tuple(a.evaluated.simulation.step_ns,
                               a.evaluated.gpu_memory_bytes,
                               a.evaluated.simulation.host_bytes) <
               std::make_tuple(b.evaluated.simulation.step_ns,
                               b.evaluated.gpu_memory_bytes,
                               b.evaluated.simulation.host_bytes);
      });
      if (kept_.size() > kMostKept) kept_.pop_back();
    }
    return time;
  }

  [[nodiscard]] bool any() const { return !kept_.empty(); }
  [[nodiscard]] const Choice& best() const { return kept_.front().choice; }
  [[nodiscard]] std::int64_t candidates() const { return candidates_; }
  [[nodiscard]] std::vector<Evaluated> take() {
    std::vector<Evaluated> plans;
    for (Kept& kept : kept_) plans.push_back(std::move(kept.evaluated));
    return plans;
  }

 private:
  struct Kept {
    Choice choice;
    Evaluated evaluated;
  };
  /// Choices that make one plan share a key.
  [[nodiscard]] std::tuple<std::size_t, std::size_t, std::size_t, std::int64_t, std::int64_t> key(
      const Choice& choice) const {
    const plan::Plan plan = family_.plan_of(choice);
    return {choice.packing,
            choice.resident,
            std::min(choice.streamed_optimizer, plan.chunks.size() - choice.resident),
            plan.cache.blocks,
            choice.gradient_window_bytes};
  }

  static constexpr std::size_t kMostKept = 6;
  const Problem& problem_;
  const Family& family_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::int64_t, std::int64_t>, double>
      times_;
  std::vector<Kept> kept_;
  std::int64_t candidates_ = 0;
};

/// Largest n in [0, most] for which `fits(n)`; fits(0) is given. Memory grows with n nearly
/// everywhere, so a bisection is good enough: the simulator has the last word.
template <class Fits>
std::size_t largest_fitting(std::size_t most, Fits fits) {
  std::size_t low = 0;
  std::size_t high = most;
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// What the room that is left over goes to first: parameters alone, or resident chunks for this
/// many quarters of it.
enum class Prefer : std::uint8_t { kParameters, kQuarter, kHalf, kThreeQuarters, kResident };

/// Fills the device with resident chunks and resident parameters, in the order of `prefer`.
Choice fill(const Family& family,
            Choice choice,
            Prefer prefer,
            std::int64_t budget_bytes,
            std::int64_t dynamic_bytes) {
  const std::size_t chunks = family.packings()[choice.packing].chunks.size();
  const auto fits = [&](const Choice& candidate, std::int64_t limit) {
    return family.gpu_memory_of(candidate, dynamic_bytes) <= limit;
  };
  const auto grow_resident = [&](std::int64_t limit) {
    choice.resident = largest_fitting(chunks, [&](std::size_t n) {
      Choice candidate = choice;
      candidate.resident = n;
      // Chunks that were to have their parameters here keep them.
      const std::size_t held = choice.resident + choice.streamed_optimizer;
      candidate.streamed_optimizer = held > n ? held - n : 0;
      return fits(candidate, limit);
    });
  };
  const auto grow_parameters = [&] {
    choice.streamed_optimizer = largest_fitting(chunks - choice.resident, [&](std::size_t n) {
      Choice candidate = choice;
      candidate.streamed_optimizer = n;
      return fits(candidate, budget_bytes);
    });
  };
  if (prefer == Prefer::kParameters) {
    grow_parameters();
    const std::size_t held = choice.streamed_optimizer;
    grow_resident(budget_bytes);
    choice.streamed_optimizer = held > choice.resident ? held - choice.resident : 0;
    return choice;
  }
  const std::int64_t used = family.gpu_memory_of(choice, dynamic_bytes);
  const auto quarters = static_cast<std::int64_t>(prefer);
  grow_resident(prefer == Prefer::kResident ? budget_bytes
                                            : used + (budget_bytes - used) / 4 * quarters);
  grow_parameters();
  return choice;
}

std::vector<std::int64_t> block_counts(std::int64_t fewest, std::int64_t most) {
  std::set<std::int64_t> counts;
  for (const std::int64_t more : {0, 1, 2, 4, 8, 16}) counts.insert(std::min(fewest + more, most));
  return {counts.begin(), counts.end()};
}

}  // namespace

Minima find_minima(const Problem& problem) {
  const Family family(problem);
  const std::vector<Link> chain = chain_of(problem, family);
  Minima minima;
  minima.dynamic_bytes = family.dynamic_bytes();
  const auto device = least_device(chain, problem.host_budget_bytes());
  if (device) minima.gpu_memory_bytes = device->gpu_memory_bytes;
  const auto host = least_host(chain, problem.gpu_budget_bytes());
  if (host) minima.host_memory_bytes = host->host_bytes;
  const Link least = *least_device(chain, std::numeric_limits<std::int64_t>::max());
  minima.gpu_memory_bytes_any_host = least.gpu_memory_bytes;
  minima.least_peak = family.evaluate(least.choice).simulation.device;
  return minima;
}

BestPlans best_plans(const Problem& problem) {
  const Family family(problem);
  Race race(problem, family);
  const std::int64_t budget_bytes = problem.gpu_budget_bytes();

  // The chain decides whether anything fits; its members are the only ones when budgets are tight.
  Choice smallest = family.smallest();
  race.run(smallest);
  if (!race.any()) {
    const auto least = least_device(chain_of(problem, family), problem.host_budget_bytes());
    if (!least || least->gpu_memory_bytes > budget_bytes) return {.candidates = race.candidates()};
    smallest = least->choice;
    race.run(smallest);
  }

  // A window only helps where copies run beside compute.
  std::vector<std::pair<std::int64_t, std::int64_t>> windows = {{0, family.dynamic_bytes()}};
  if (problem.on_cuda()) {
    std::int64_t largest = 0;
    std::int64_t total = 0;
    for (const Item& item : problem.items()) {
      largest = std::max(largest, item.bytes);
      total += item.bytes;
    }
    for (const std::int64_t window : {2 * largest, total / 8, total}) {
      windows.emplace_back(window, family.dynamic_bytes_of(family.smallest(), window));
    }
  }
  for (const auto& [window, dynamic] : windows) {
    for (std::size_t p = 0; p < family.packings().size(); ++p) {
      Choice base{.packing = p, .gradient_window_bytes = window};
      const auto chunks = static_cast<std::int64_t>(family.packings()[p].chunks.size());
      for (const std::int64_t blocks : block_counts(family.fewest_blocks(base), chunks)) {
        base.blocks = blocks;
        if (family.gpu_memory_of(base, dynamic) > budget_bytes) continue;
        for (const Prefer prefer : {Prefer::kResident,
                                    Prefer::kParameters,
                                    Prefer::kHalf,
                                    Prefer::kQuarter,
                                    Prefer::kThreeQuarters}) {
          race.run(fill(family, base, prefer, budget_bytes, dynamic));
        }
      }
    }
  }

  // From the best one, small steps.
  for (bool better = true; better;) {
    better = false;
    const Choice from = race.best();
    const double best_ns = race.run(from);
    const auto attempt = [&](Choice to) { better = race.run(to) < best_ns || better; };
    for (const std::int64_t blocks : {from.blocks - 1, from.blocks + 1}) {
      if (blocks < 0) continue;
      Choice to = from;
      to.blocks = blocks;
      attempt(to);
    }
    for (const int shift : {-16, -4, -1, 1, 4, 16}) {
      Choice to = from;
      const auto resident = static_cast<std::int64_t>(from.resident) + shift;
      const auto chunks = static_cast<std::int64_t>(family.packings()[from.packing].chunks.size());
      if (resident >= 0 && resident <= chunks) {
        to.resident = static_cast<std::size_t>(resident);
        attempt(to);
      }
      to = from;
      const auto held = static_cast<std::int64_t>(from.streamed_optimizer) + shift;
      if (held >= 0 && held + static_cast<std::int64_t>(from.resident) <= chunks) {
        to.streamed_optimizer = static_cast<std::size_t>(held);
        attempt(to);
      }
    }
    for (const std::int64_t window :
         {from.gradient_window_bytes / 2, from.gradient_window_bytes * 2}) {
      Choice to = from;
      to.gradient_window_bytes = window;
      attempt(to);
    }
  }
  return {.plans = race.take(), .candidates = race.candidates()};
}

}  // namespace elixir::search
