// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/optimal.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "search/placements.h"

namespace elixir::search {
namespace {

/// Evaluates each placement once, and keeps the best that fit.
class Ranking {
 public:
  Ranking(const Problem& problem, const PlacementSpace& space) : problem_(problem), space_(space) {}

  /// The result is that of one placement after the other.
  void run(const std::vector<Placement>& placements) {
    std::vector<Placement> fresh;
    for (const Placement& placement : placements) {
      if (times_.emplace(key(placement), kDoesNotFit).second) fresh.push_back(placement);
    }
    candidates_ += static_cast<std::int64_t>(fresh.size());
    constexpr std::size_t kAtOnce = 32;  // simulations in memory
    for (std::size_t begin = 0; begin < fresh.size(); begin += kAtOnce) {
      throw_if_interrupted();
      std::vector<Evaluated> evaluated(std::min(kAtOnce, fresh.size() - begin));
      in_parallel(evaluated.size(),
                  [&](std::size_t i) { evaluated[i] = space_.outline(fresh[begin + i]); });
      for (std::size_t i = 0; i < evaluated.size(); ++i) {
        keep(fresh[begin + i], std::move(evaluated[i]));
      }
    }
  }

  /// The step time of a placement that has been run; infinity when it does not fit.
  [[nodiscard]] double time(const Placement& placement) const { return times_.at(key(placement)); }
  [[nodiscard]] bool any() const { return !kept_.empty(); }
  [[nodiscard]] const Placement& best() const { return kept_.front().placement; }
  [[nodiscard]] std::vector<Placement> leaders() const {
    std::vector<Placement> placements;
    for (const Kept& kept : kept_) placements.push_back(kept.placement);
    return placements;
  }
  [[nodiscard]] std::int64_t candidates() const { return candidates_; }
  [[nodiscard]] std::vector<Evaluated> take() {
    std::vector<Evaluated> plans;
    for (Kept& kept : kept_) {
      space_.add_names(kept.evaluated.plan, kept.placement);
      plans.push_back(std::move(kept.evaluated));
    }
    return plans;
  }

 private:
  struct Kept {
    Placement placement;
    Evaluated evaluated;
  };
  /// Placements with the same plan share a key.
  using Key =
      std::tuple<std::size_t, std::size_t, std::size_t, std::int64_t, std::int64_t, int, int, int>;
  [[nodiscard]] Key key(const Placement& placement) const {
    const std::size_t chunks = space_.packings()[placement.packing].chunks.size();
    return {placement.packing,
            placement.resident,
            std::min(placement.streamed_optimizer, chunks - placement.resident),
            space_.blocks(placement),
            placement.gradient_window_bytes,
            placement.streamed_updates,
            placement.late_moments,
            placement.kept_gradients_in_plan()};
  }

  void keep(const Placement& placement, Evaluated evaluated) {
    if (!problem_.fits(evaluated)) return;
    times_[key(placement)] = evaluated.simulation.step_ns;
    kept_.push_back({placement, std::move(evaluated)});
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

  static constexpr std::size_t kMostKept = 6;
  static constexpr double kDoesNotFit = std::numeric_limits<double>::infinity();
  const Problem& problem_;
  const PlacementSpace& space_;
  std::map<Key, double> times_;
  std::vector<Kept> kept_;
  std::int64_t candidates_ = 0;
};

/// The largest n in [0, most] for which `fits(n)`; fits(0) must hold. Memory grows with n nearly
/// everywhere, so bisection is good enough. The simulator decides in the end.
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

/// What uses the remaining room first: only parameters, or resident chunks for this many quarters
/// of it.
enum class Prefer : std::uint8_t { kParameters, kQuarter, kHalf, kThreeQuarters, kResident };

/// Fills the device with resident chunks and resident parameters, as `prefer` says.
Placement fill(const PlacementSpace& space,
               Placement placement,
               Prefer prefer,
               std::int64_t budget_bytes,
               std::int64_t dynamic_bytes) {
  const std::size_t chunks = space.packings()[placement.packing].chunks.size();
  const std::size_t most_resident = space.most_resident(placement.packing);
  const auto fits = [&](const Placement& candidate, std::int64_t limit) {
    return space.gpu_memory_of(candidate, dynamic_bytes) <= limit;
  };
  const auto grow_resident = [&](std::int64_t limit) {
    placement.resident = largest_fitting(most_resident, [&](std::size_t n) {
      Placement candidate = placement;
      candidate.resident = n;
      // Chunks with parameters on the device keep them there.
      const std::size_t held = placement.resident + placement.streamed_optimizer;
      candidate.streamed_optimizer = held > n ? held - n : 0;
      return fits(candidate, limit);
    });
  };
  const auto grow_parameters = [&] {
    placement.streamed_optimizer = largest_fitting(chunks - placement.resident, [&](std::size_t n) {
      Placement candidate = placement;
      candidate.streamed_optimizer = n;
      return fits(candidate, budget_bytes);
    });
  };
  if (prefer == Prefer::kParameters) {
    grow_parameters();
    const std::size_t held = placement.streamed_optimizer;
    grow_resident(budget_bytes);
    placement.streamed_optimizer = held > placement.resident ? held - placement.resident : 0;
    return placement;
  }
  const std::int64_t used = space.gpu_memory_of(placement, dynamic_bytes);
  const auto quarters = static_cast<std::int64_t>(prefer);
  grow_resident(prefer == Prefer::kResident ? budget_bytes
                                            : used + (budget_bytes - used) / 4 * quarters);
  grow_parameters();
  return placement;
}

/// If ranks have shards, a chunk that keeps its block is gathered once in a step instead of
/// twice.
std::vector<std::int64_t> block_counts(std::int64_t fewest, std::int64_t most, bool is_sharded) {
  std::set<std::int64_t> counts;
  for (const std::int64_t more : {0, 1, 4, 12}) counts.insert(std::min(fewest + more, most));
  if (is_sharded) counts.insert({most / 2 > fewest ? most / 2 : fewest, most});
  return {counts.begin(), counts.end()};
}

/// The gradient windows to try, each with the peak of operators' storages under it. A window only
/// helps where copies overlap with compute.
std::vector<std::pair<std::int64_t, std::int64_t>> gradient_windows(const Problem& problem,
                                                                    const PlacementSpace& space) {
  const std::pair<std::int64_t, std::int64_t> none = {0, space.dynamic_bytes()};
  if (!problem.on_cuda()) return {none};
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  std::int64_t largest = 0;
  std::int64_t total = 0;
  for (const Item& item : problem.items()) {
    largest = std::max(largest, item.bytes);
    total += item.bytes;
  }
  for (const std::int64_t window : {2 * largest, total / 8, total}) {
    windows.emplace_back(window, space.dynamic_bytes_of(space.smallest(), window));
  }
  windows.push_back(none);
  return windows;
}

/// `base`, which keeps no chunk on the device, with the budget filled in every way. Nothing when
/// even `base` does not fit.
void add_filled(std::vector<Placement>& placements,
                const Problem& problem,
                const PlacementSpace& space,
                const Placement& base,
                std::int64_t dynamic_bytes) {
  if (space.gpu_memory_of(base, dynamic_bytes) > problem.gpu_budget_bytes()) return;
  if (space.most_resident(base.packing) == 0) {
    // As many parameters as there is room for can be slower than few, by more than improve() steps
    // over.
    placements.push_back(base);
    placements.push_back(
        fill(space, base, Prefer::kParameters, problem.gpu_budget_bytes(), dynamic_bytes));
    Placement half = placements.back();
    half.streamed_optimizer /= 2;
    placements.push_back(half);
    return;
  }
  for (const Prefer prefer : {Prefer::kResident,
                              Prefer::kParameters,
                              Prefer::kHalf,
                              Prefer::kQuarter,
                              Prefer::kThreeQuarters}) {
    placements.push_back(fill(space, base, prefer, problem.gpu_budget_bytes(), dynamic_bytes));
  }
}

/// Every packing with several numbers of blocks, and the rest of the budget filled in several ways.
std::vector<Placement> filled_packings(const Problem& problem,
                                       const PlacementSpace& space,
                                       std::int64_t window_bytes,
                                       std::int64_t dynamic_bytes) {
  std::vector<Placement> placements;
  for (std::size_t p = 0; p < space.packings().size(); ++p) {
    throw_if_interrupted();
    Placement base{.packing = p, .gradient_window_bytes = window_bytes};
    const auto chunks = static_cast<std::int64_t>(space.packings()[p].chunks.size());
    for (const std::int64_t blocks :
         block_counts(space.blocks(base), chunks, problem.is_sharded())) {
      base.blocks = blocks;
      add_filled(placements, problem, space, base, dynamic_bytes);
    }
  }
  return placements;
}

/// `leaders`, with another window and the budget filled again.
std::vector<Placement> with_window(const Problem& problem,
                                   const PlacementSpace& space,
                                   const std::vector<Placement>& leaders,
                                   std::int64_t window_bytes,
                                   std::int64_t dynamic_bytes) {
  std::vector<Placement> placements;
  for (const Placement& leader : leaders) {
    const Placement base{
        .packing = leader.packing, .blocks = leader.blocks, .gradient_window_bytes = window_bytes};
    add_filled(placements, problem, space, base, dynamic_bytes);
  }
  return placements;
}

/// The best placement so far, with the updates of some chunks on the device and the rest of the
/// budget filled again.
std::vector<Placement> with_streamed_updates(const Problem& problem,
                                             const PlacementSpace& space,
                                             const Placement& best) {
  const std::int64_t dynamic_bytes =
      space.dynamic_bytes_of(space.smallest(), best.gradient_window_bytes);
  std::vector<Placement> placements;
  for (const int shares : {8, 12, 16, 20}) {
    const Placement base{.packing = best.packing,
                         .blocks = best.blocks,
                         .gradient_window_bytes = best.gradient_window_bytes,
                         .streamed_updates = shares};
    add_filled(placements, problem, space, base, dynamic_bytes);
  }
  return placements;
}

/// The best placement so far, with moments of some chunks made late. That changes no memory, unless
/// gradients of several steps are kept for them, which takes some of the host's.
std::vector<Placement> with_late_moments(const PlacementSpace& space, const Placement& best) {
  std::vector<Placement> placements;
  for (const int kept : space.kept_gradients()) {
    for (const int shares : {8, 16, 24, 32}) {
      placements.push_back(best);
      placements.back().late_moments = shares;
      placements.back().kept_gradients = kept;
    }
  }
  return placements;
}

/// The placements that differ by one small step.
std::vector<Placement> neighbours(const PlacementSpace& space, const Placement& from) {
  std::vector<Placement> near;
  const auto add = [&](auto change) {
    near.push_back(from);
    change(near.back());
  };
  for (const std::int64_t blocks : {from.blocks - 1, from.blocks + 1}) {
    if (blocks >= 0) add([&](Placement& to) { to.blocks = blocks; });
  }
  const auto chunks = static_cast<std::int64_t>(space.packings()[from.packing].chunks.size());
  const auto most_resident = static_cast<std::int64_t>(space.most_resident(from.packing));
  for (const int shift : {-16, -4, -1, 1, 4, 16}) {
    const auto resident = static_cast<std::int64_t>(from.resident) + shift;
    if (resident >= 0 && resident <= most_resident) {
      add([&](Placement& to) { to.resident = static_cast<std::size_t>(resident); });
    }
    const auto held = static_cast<std::int64_t>(from.streamed_optimizer) + shift;
    if (held >= 0 && held + static_cast<std::int64_t>(from.resident) <= chunks) {
      add([&](Placement& to) { to.streamed_optimizer = static_cast<std::size_t>(held); });
    }
  }
  for (const std::int64_t window :
       {from.gradient_window_bytes / 2, from.gradient_window_bytes * 2}) {
    add([&](Placement& to) { to.gradient_window_bytes = window; });
  }
  if (!space.may_stream_updates()) return near;
  for (const int shift : {-4, -1, 1, 4}) {
    const int shares = from.streamed_updates + shift;
    if (shares >= 0 && shares <= kUpdateShares) {
      add([&](Placement& to) { to.streamed_updates = shares; });
    }
  }
  if (!space.may_make_moments_late()) return near;
  for (const int shift : {-4, -1, 1, 4}) {
    const int shares = from.late_moments + shift;
    if (shares < 0 || shares > kUpdateShares) continue;
    add([&](Placement& to) { to.late_moments = shares; });
    // Cores that do less of an update have time for more of them.
    if (from.streamed_updates > 0) {
      add([&](Placement& to) {
        to.late_moments = shares;
        to.streamed_updates = std::clamp(from.streamed_updates - shift, 0, kUpdateShares);
      });
    }
  }
  return near;
}

/// Starts from the best placement and takes small steps while they make it faster, by more than
/// predictions are good for.
void improve(const PlacementSpace& space, Ranking& ranking) {
  constexpr double kWorthAStep = 1 - 1e-3;
  for (bool better = true; better;) {
    better = false;
    const Placement from = ranking.best();
    const std::vector<Placement> near = neighbours(space, from);
    ranking.run(near);
    for (const Placement& to : near) {
      better = ranking.time(to) < ranking.time(from) * kWorthAStep || better;
    }
  }
}

}  // namespace

Minima find_minima(const PlacementSpace& space) {
  const Problem& problem = space.problem();
  const std::vector<ChainMember> chain = chain_of(space);
  Minima minima;
  minima.dynamic_bytes = space.dynamic_bytes() - problem.library_bytes();
  const auto device = least_device(chain, problem.host_budget_bytes());
  if (device) minima.gpu_memory_bytes = device->gpu_memory_bytes;
  const auto host = least_host(chain, problem.gpu_budget_bytes());
  if (host) minima.host_memory_bytes = host->host_bytes;
  const ChainMember least = *least_device(chain, std::numeric_limits<std::int64_t>::max());
  minima.gpu_memory_bytes_any_host = least.gpu_memory_bytes;
  minima.least_peak = space.evaluate(least.placement).simulation.device;
  return minima;
}

Evaluated smallest_plan(const PlacementSpace& space) {
  return space.evaluate(space.smallest());
}

BestPlans best_plans(const PlacementSpace& space) {
  const Problem& problem = space.problem();
  Ranking ranking(problem, space);

  // The chain decides whether anything fits. With tight budgets only its members fit.
  ranking.run({space.smallest()});
  if (!ranking.any()) {
    const auto least = least_device(chain_of(space), problem.host_budget_bytes());
    if (!least || least->gpu_memory_bytes > problem.gpu_budget_bytes()) {
      return {.candidates = ranking.candidates()};
    }
    ranking.run({least->placement});
  }
  bool filled = false;
  for (const auto& [window_bytes, dynamic_bytes] : gradient_windows(problem, space)) {
    // The window matters less than the packing: the others are tried on the leaders alone.
    const std::vector<Placement> placements =
        filled ? with_window(problem, space, ranking.leaders(), window_bytes, dynamic_bytes)
               : filled_packings(problem, space, window_bytes, dynamic_bytes);
    ranking.run(placements);
    filled = filled || !placements.empty();
  }
  if (space.may_stream_updates())
    ranking.run(with_streamed_updates(problem, space, ranking.best()));
  if (space.may_make_moments_late()) ranking.run(with_late_moments(space, ranking.best()));
  improve(space, ranking);
  return {.plans = ranking.take(), .candidates = ranking.candidates()};
}

}  // namespace elixir::search
