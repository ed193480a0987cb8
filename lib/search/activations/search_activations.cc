// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/activations/search_activations.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "edit/frontier.h"
#include "edit/frontier_path.h"
#include "hardware/operator_cost.h"
#include "schedule/buffers/lent_gradients.h"
#include "schedule/simulate.h"
#include "search/activations/better_of.h"
#include "search/search_edited.h"

namespace elixir::search {
namespace {

using edit::Recompute;

/// Searches with several choices, and keeps the best outcome.
class ActivationSearch {
 public:
  /// `start` is the program before anything is recomputed. It must outlive this object.
  ActivationSearch(const EditedProgram& start,
                   const hardware::HardwareProfile& hardware,
                   const Request& request)
      : start_(start),
        hardware_(hardware),
        request_(request),
        kept_without_bytes_(edit::kept_bytes(start.program)) {}

  /// The choice with what the request says about the host: nothing on it, everything, or as much as
  /// makes the step faster.
  void add_with_host(ActivationChoice choice) {
    if (request_.offload) {
      choice.offloaded_share = *request_.offload == edit::Offload::kAll ? 1 : 0;
      add(choice);
      return;
    }
    add(choice);
    if (request_.strategy != "optimal") return;
    add_on_host(choice, nullptr);
    add_lent();
  }
  /// The search's own choice: whatever is fastest.
  void add_fastest() {
    const double share = request_.offload == edit::Offload::kAll ? 1 : 0;
    add({.offloaded_share = share});
    // More work in a step cannot make it faster.
    if (moves_nothing()) return;
    const edit::FrontierPath path(
        start_.program,
        edit::frontier(start_.program,
                       schedule::operator_ns(start_.program, hardware::CostModel(hardware_))));
    const auto at = [&](std::size_t position) {
      ActivationChoice choice{.storages = path.storages(position), .offloaded_share = share};
      if (!choice.storages.empty()) choice.name = Recompute::kFrontier;
      return choice;
    };
    const Tried tried = add_points(path, at);
    // What can be asked for by name must not be faster. Blocks are the last point.
    ActivationChoice elementwise = choice_of(start_.program, Recompute::kElementwise);
    elementwise.offloaded_share = share;
    if (!elementwise.storages.empty()) add(elementwise);
    if (request_.offload) return;
    std::optional<ActivationChoice> keeps_more;
    if (tried.before_best) keeps_more = at(*tried.before_best);
    add_on_host(at(tried.best), keeps_more ? &*keeps_more : nullptr);
    add_lent();
  }
  [[nodiscard]] Outcome take() { return std::move(*best_); }

 private:
  static constexpr std::int64_t kNoPlan = std::numeric_limits<std::int64_t>::max();

  /// Searches with each choice, at the same time: half of a search runs on one thread. The result
  /// is that of one after the other. Returns each step's time; kNoPlan when no plan fits.
  std::vector<std::int64_t> add_all(const std::vector<ActivationChoice>& choices) {
    std::vector<std::optional<Outcome>> outcomes(choices.size());
    in_parallel(choices.size(), [&](std::size_t i) {
      throw_if_interrupted();
      report_progress(choices[i]);
      outcomes[i] = outcome_of(choices[i]);
    });
    std::vector<std::int64_t> steps_ns;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      Outcome& outcome = *outcomes[i];
      const auto* found = std::get_if<Found>(&outcome);
      steps_ns.push_back(found != nullptr ? found->plan.predicted.step_ns : kNoPlan);
      if (found != nullptr && (!best_ || steps_ns.back() < step_ns_of_best())) {
        choice_of_best_ = choices[i];
      }
      best_ = best_ ? better_of(std::move(*best_), std::move(outcome)) : std::move(outcome);
    }
    return steps_ns;
  }
  std::int64_t add(const ActivationChoice& choice) { return add_all({choice}).front(); }

  void report_progress(const ActivationChoice& next) {
    if (!request_.on_progress) return;
    // An estimate: how many searches there will be depends on what they find.
    constexpr double kMostSearches = 16;
    const std::lock_guard lock(progress_);
    request_.on_progress(std::min(static_cast<double>(begun_++) / kMostSearches, 1.0),
                         fmt::format("searches a plan, recomputing {}", description_of(next)));
  }

  [[nodiscard]] Outcome outcome_of(const ActivationChoice& choice) const {
    const EditedProgram variant = with_choice(start_, choice);
    Outcome outcome = search_edited(variant.program, variant.edits, hardware_, request_);
    if (auto* found = std::get_if<Found>(&outcome)) {
      const std::int64_t lent_bytes = schedule::lent_bytes(variant.program, found->plan);
      found->recomputation = {
          .choice = choice.name,
          .recompute_ns =
              choice.storages.empty()
                  ? 0
                  : schedule::recompute_ns(variant.program, hardware::CostModel(hardware_)),
          .kept_bytes = variant.kept_bytes,
          .kept_without_bytes = kept_without_bytes_,
          .offloaded_bytes = edit::offloaded_bytes(variant.program) - lent_bytes,
          .in_gradients_bytes = lent_bytes};
    }
    return outcome;
  }

  /// Positions along a frontier.
  struct Tried {
    std::size_t best = 0;                    ///< the last one where no plan fits
    std::optional<std::size_t> before_best;  ///< keeps more
  };

  /// Each position takes a search of its own, so only some are tried: the first one, which is there
  /// already, a few over the whole frontier, then halfway between the fastest and its neighbours.
  /// If the best plan moves nothing, keeping less cannot help, and how much more can be kept is
  /// found to the block.
  template <class Choice>
  Tried add_points(const edit::FrontierPath& path, Choice at) {
    constexpr int kRounds = 3, kMostRounds = 8;
    std::map<std::size_t, std::int64_t> step_ns{{0, step_ns_of_best()}};
    const auto try_positions = [&](const std::vector<std::size_t>& positions) {
      std::vector<std::size_t> fresh;
      std::vector<ActivationChoice> choices;
      for (const std::size_t position : positions) {
        if (!step_ns.emplace(position, kNoPlan).second) continue;
        fresh.push_back(position);
        choices.push_back(at(position));
      }
      const std::vector<std::int64_t> found_ns = add_all(choices);
      for (std::size_t i = 0; i < fresh.size(); ++i) step_ns[fresh[i]] = found_ns[i];
    };
    const auto fastest = [&] {
      return std::min_element(
          step_ns.begin(), step_ns.end(), [](const auto& one, const auto& other) {
            return one.second < other.second;
          });
    };
    std::vector<std::size_t> spread;
    for (const std::size_t point : edit::spread_over(path.points())) {
      spread.push_back(path.position_of(point));
    }
    try_positions(spread);
    for (int round = 0; round < (moves_nothing() ? kMostRounds : kRounds); ++round) {
      const auto best = fastest();
      const std::size_t position = best->first;
      const auto after = std::next(best);
      const bool resident = moves_nothing();
      std::vector<std::size_t> middles;
      if (best != step_ns.begin()) {
        const auto [left, left_ns] = *std::prev(best);
        if (resident || differ(left_ns, best->second)) {
          middles.push_back(path.middle(left, position));
        }
      }
      if (after != step_ns.end() && !resident && differ(after->second, best->second)) {
        middles.push_back(path.middle(position, after->first));
      }
      try_positions(middles);
    }
    // If nothing fits, what keeps least is nearest.
    const auto best = fastest()->second == kNoPlan ? std::prev(step_ns.end()) : fastest();
    Tried tried{.best = best->first};
    if (best != step_ns.begin()) tried.before_best = std::prev(best)->first;
    return tried;
  }

  /// Whether it is worth looking between two positions with these steps.
  [[nodiscard]] static bool differ(std::int64_t step_ns, std::int64_t best_ns) {
    constexpr std::int64_t kParts = 300;
    return step_ns - best_ns > best_ns / kParts;
  }

  /// Tries `choice`, and `keeps_more`, with more and less on the host, if that can matter.
  void add_on_host(ActivationChoice choice, const ActivationChoice* keeps_more) {
    if (moves_nothing() || host_would_gain_little()) return;
    const auto with_share = [](ActivationChoice with, double share) {
      with.offloaded_share = share;
      return with;
    };
    std::vector<ActivationChoice> with_all = {with_share(choice, 1)};
    if (keeps_more != nullptr) with_all.push_back(with_share(*keeps_more, 1));
    const std::vector<std::int64_t> steps_ns = add_all(with_all);
    if (steps_ns.back() < steps_ns.front()) choice = *keeps_more;
    const std::int64_t all_ns = std::min(steps_ns.front(), steps_ns.back());
    const std::int64_t half_ns = add(with_share(choice, 0.5));
    if (all_ns != half_ns) add(with_share(choice, all_ns < half_ns ? 0.75 : 0.25));
  }

  /// The best plan's activations where its gradients come later. That leaves room for more
  /// gradients, and what is on the host can change.
  void add_lent() {
    if (moves_nothing()) return;
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
      ActivationChoice choice = choice_of_best_;
      const std::int64_t lent_bytes = lendable_bytes_of_best();
      if (lent_bytes <= choice.lent_bytes) return;
      choice.lent_bytes = lent_bytes;
      const std::int64_t before_ns = step_ns_of_best();
      std::vector<ActivationChoice> choices = {choice};
      choice.offloaded_share /= 2;
      if (choice.offloaded_share > 0) choices.push_back(choice);
      add_all(choices);
      if (!differ(before_ns, step_ns_of_best())) return;
    }
  }

  /// What there is of gradients that can lend their memory.
  [[nodiscard]] std::int64_t lendable_bytes_of_best() const {
    const auto* found = std::get_if<Found>(&*best_);
    if (found == nullptr) return 0;
    std::int64_t bytes = 0;
    for (const plan::Chunk& chunk : found->plan.chunks) {
      if (!plan::is_trained(chunk, start_.program)) continue;
      bytes += schedule::lendable_bytes(found->plan, chunk);
    }
    return bytes;
  }

  /// The best plan so far leaves all that chunks hold on the device.
  [[nodiscard]] bool moves_nothing() const {
    const auto* found = std::get_if<Found>(&*best_);
    return found != nullptr && !moves_anything(found->plan);
  }
  /// The device memory of its activations is little beside what the best plan has on the host.
  [[nodiscard]] bool host_would_gain_little() const {
    constexpr std::int64_t kLittle = 50;
    const auto* found = std::get_if<Found>(&*best_);
    return found != nullptr &&
           found->recomputation.kept_bytes < found->plan.predicted.host_bytes / kLittle;
  }
  [[nodiscard]] std::int64_t step_ns_of_best() const {
    const auto* found = std::get_if<Found>(&*best_);
    return found != nullptr ? found->plan.predicted.step_ns : kNoPlan;
  }

  const EditedProgram& start_;
  const hardware::HardwareProfile& hardware_;
  const Request& request_;
  std::int64_t kept_without_bytes_ = 0;
  std::optional<Outcome> best_;
  ActivationChoice choice_of_best_;
  std::mutex progress_;
  int begun_ = 0;  ///< searches
};

}  // namespace

Outcome search_activations(const EditedProgram& start,
                           const hardware::HardwareProfile& hardware,
                           const Request& request) {
  ActivationSearch search(start, hardware, request);
  if (request.recompute) {
    search.add_with_host(choice_of(start.program, *request.recompute));
  } else if (request.strategy == "optimal") {
    search.add_fastest();
  } else {
    search.add_with_host(choice_of(start.program, Recompute::kBlocks));
  }
  return search.take();
}

}  // namespace elixir::search
