// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/units.h"
#include "edit/frontier.h"
#include "edit/frontier_path.h"
#include "hardware/operator_cost.h"
#include "schedule/buffers/lent_gradients.h"
#include "schedule/edited_program.h"
#include "schedule/simulate.h"
#include "search/problem.h"
#include "search/search_edited.h"

namespace elixir::search {
namespace {

using edit::Recompute;

void check_request(const Request& request) {
  if (request.gpus < 1 || request.gpus > plan::kMostRanks) {
    throw Error(ErrorCode::kBadFlagValue, "{} GPUs", request.gpus)
        .help("a number from 1 to {}", plan::kMostRanks);
  }
  if (request.gpus_per_node &&
      (*request.gpus_per_node < 1 || request.gpus % *request.gpus_per_node != 0)) {
    throw Error(ErrorCode::kBadFlagValue,
                "{} GPUs cannot fill machines of {} each",
                request.gpus,
                *request.gpus_per_node)
        .help("a number that divides {}", request.gpus);
  }
  const hardware::Ranks ranks = ranks_of(request);
  if (!plan::replicas_fit(ranks.world, ranks.per_node, ranks.replicas)) {
    throw Error(ErrorCode::kBadFlagValue,
                "{} GPUs in machines of {} cannot hold {} replicas",
                ranks.world,
                ranks.per_node,
                ranks.replicas)
        .help("a replica is in one machine, or fills several: --replicas {}, for one in each",
              ranks.world / ranks.per_node);
  }
  if (request.accumulation_steps < 1) {
    throw Error(ErrorCode::kBadFlagValue, "{} accumulation steps", request.accumulation_steps)
        .help("a number from 1 on");
  }
}

/// One way to choose what is recomputed, and what of the rest waits on the host.
struct Recomputed {
  Recompute name = Recompute::kNone;
  std::vector<program::StorageId> storages;  ///< ascending; empty: everything is kept
  double offloaded_share = 0;                ///< of the bytes that are kept, from 0 to 1
  std::int64_t lent_bytes = 0;  ///< of the others, as many wait where gradients come later
};

Recomputed chosen(const program::Program& program, Recompute name) {
  Recomputed choice{.name = name, .storages = edit::choose(program, name)};
  std::sort(choice.storages.begin(), choice.storages.end());
  if (choice.storages.empty()) choice.name = Recompute::kNone;
  return choice;
}

/// The program with what a choice recomputes.
struct Edited {
  Edits edits;
  program::Program program;
  std::int64_t kept_bytes = 0;  ///< of activations, on the device or the host
};
/// The program before anything is recomputed: the captured one, fused where that is asked for.
Edited started(const program::Program& captured,
               plan::Arithmetic arithmetic,
               std::vector<std::string>& losses_kept) {
  Edits edits{.fingerprint = program::fingerprint(captured), .edits = {}};
  if (arithmetic == plan::Arithmetic::kAsEager) {
    return {.edits = std::move(edits), .program = captured};
  }
  schedule::FusedArithmetic fused = schedule::with_fused_arithmetic(captured, arithmetic);
  losses_kept = std::move(fused.losses_kept);
  edits.edits = std::move(fused.edits);
  return {.edits = std::move(edits), .program = std::move(fused.program)};
}

Edited edited(Edited before, const plan::Edit& edit) {
  if (edit.storages.empty()) return before;
  before.program = schedule::apply_edits(std::move(before.program), {edit});
  before.edits.edits.push_back(edit);
  return before;
}

Edited edited(const Edited& before, const Recomputed& choice) {
  Edited result =
      edited(before, {.kind = plan::Edit::Kind::kRecompute, .storages = choice.storages});
  result.kept_bytes = edit::kept_bytes(result.program);
  plan::Edit offload{.kind = plan::Edit::Kind::kOffload};
  if (choice.offloaded_share > 0) {
    offload.storages = edit::worth_offloading(result.program, choice.offloaded_share);
  }
  offload.window_bytes = edit::offload_window_bytes(result.program, offload.storages);
  result = edited(std::move(result), offload);
  // Such copies stay on the device, and take no time that is worth a window.
  plan::Edit lend{.kind = plan::Edit::Kind::kOffload};
  if (choice.lent_bytes > 0) {
    lend.storages = edit::completed_last(result.program, choice.lent_bytes);
  }
  return edited(std::move(result), lend);
}

std::string description_of(const Recomputed& choice) {
  std::string recomputed = choice.storages.empty()
                               ? std::string("nothing")
                               : fmt::format("{} activations", choice.storages.size());
  if (choice.offloaded_share > 0) {
    recomputed += fmt::format(", {:.0f} % of the others on the host", 100 * choice.offloaded_share);
  }
  if (choice.lent_bytes > 0) {
    recomputed += fmt::format(", {} in memory of gradients", format_bytes(choice.lent_bytes));
  }
  return recomputed;
}

Candidate summary_of(const Found& found) {
  const Recomputation& activations = found.recomputation;
  const std::string offload =
      activations.offloaded_bytes == 0
          ? ""
          : fmt::format(", offload {}", format_bytes(activations.offloaded_bytes));
  return {.description = fmt::format(
              "recompute {}{}: {}", edit::name_of(activations.choice), offload, found.description),
          .step_ns = found.plan.predicted.step_ns,
          .peak_bytes = found.plan.predicted.peak_allocated_bytes,
          .host_bytes = found.plan.predicted.host_bytes};
}

/// The faster one, with the other among its runners-up. Equal ones: the first, which recomputes
/// less.
Found better_of(Found first, Found second) {
  const std::int64_t candidates = first.candidates + second.candidates;
  if (second.plan.predicted.step_ns < first.plan.predicted.step_ns) std::swap(first, second);
  first.candidates = candidates;
  // A plan in which recomputing changes nothing that is shown is the same plan.
  if (second.plan.predicted.step_ns == first.plan.predicted.step_ns &&
      second.gpu_memory_bytes == first.gpu_memory_bytes &&
      second.plan.predicted.host_bytes == first.plan.predicted.host_bytes) {
    return first;
  }
  first.runners_up.push_back(summary_of(second));
  std::stable_sort(first.runners_up.begin(),
                   first.runners_up.end(),
                   [](const Candidate& a, const Candidate& b) { return a.step_ns < b.step_ns; });
  return first;
}

/// The one that lacks less, with the least GPU memory of both.
Infeasible better_of(Infeasible first, Infeasible second) {
  if (second.shortfall_bytes < first.shortfall_bytes) std::swap(first, second);
  const auto minimum = [](const Infeasible& no) {
    return std::make_pair(no.minimum_needs_more_host, no.minimum_gpu_memory_bytes);
  };
  if (minimum(second) < minimum(first)) {
    first.minimum_needs_more_host = second.minimum_needs_more_host;
    first.minimum_gpu_memory_bytes = second.minimum_gpu_memory_bytes;
    // Where host memory is short, the last remedy is more GPU memory.
    const bool both_of_host = first.binding_limit == BindingLimit::kHostMemory &&
                              second.binding_limit == BindingLimit::kHostMemory;
    if (both_of_host && first.remedies.size() > 1 && second.remedies.size() > 1) {
      first.remedies.back() = second.remedies.back();
    }
  }
  return first;
}

/// A plan rather than none.
Outcome better_of(Outcome first, Outcome second) {
  auto* found = std::get_if<Found>(&first);
  auto* other = std::get_if<Found>(&second);
  if (found != nullptr && other != nullptr) return better_of(std::move(*found), std::move(*other));
  if (found != nullptr) return first;
  if (other != nullptr) return second;
  return better_of(std::get<Infeasible>(std::move(first)), std::get<Infeasible>(std::move(second)));
}

/// Searches with several choices; the best of them.
class Searches {
 public:
  /// `start` is the program before anything is recomputed. It must outlive this object.
  Searches(const Edited& start, const hardware::HardwareProfile& hardware, const Request& request)
      : start_(start),
        hardware_(hardware),
        request_(request),
        kept_without_bytes_(edit::kept_bytes(start.program)) {}

  /// Searches with each choice, at the same time: half of a search runs on one thread. The result is that of one
  /// after the other. Returns each step's time; kNoPlan when no plan fits.
  std::vector<std::int64_t> add_all(const std::vector<Recomputed>& choices) {
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
  std::int64_t add(const Recomputed& choice) { return add_all({choice}).front(); }
  /// The choice with what the request says about the host: nothing on it, everything, or as much as
  /// makes the step faster.
  void add_with_host(Recomputed choice) {
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
      Recomputed choice{.storages = path.storages(position), .offloaded_share = share};
      if (!choice.storages.empty()) choice.name = Recompute::kFrontier;
      return choice;
    };
    const Tried tried = add_points(path, at);
    // What can be asked for by name must not be faster. Blocks are the last point.
    Recomputed elementwise = chosen(start_.program, Recompute::kElementwise);
    elementwise.offloaded_share = share;
    if (!elementwise.storages.empty()) add(elementwise);
    if (request_.offload) return;
    std::optional<Recomputed> keeps_more;
    if (tried.before_best) keeps_more = at(*tried.before_best);
    add_on_host(at(tried.best), keeps_more ? &*keeps_more : nullptr);
    add_lent();
  }
  [[nodiscard]] Outcome take() { return std::move(*best_); }

 private:
  static constexpr std::int64_t kNoPlan = std::numeric_limits<std::int64_t>::max();

  void report_progress(const Recomputed& next) {
    if (!request_.on_progress) return;
    // An estimate: how many searches there will be depends on what they find.
    constexpr double kMostSearches = 16;
    const std::lock_guard lock(progress_);
    request_.on_progress(std::min(static_cast<double>(begun_++) / kMostSearches, 1.0),
                         fmt::format("searches a plan, recomputing {}", description_of(next)));
  }

  [[nodiscard]] Outcome outcome_of(const Recomputed& choice) const {
    const Edited variant = edited(start_, choice);
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
  /// Where the best plan moves nothing, keeping less cannot help, and how much more can be kept is
  /// found to the block.
  template <class Choice>
  Tried add_points(const edit::FrontierPath& path, Choice at) {
    constexpr int kRounds = 3, kMostRounds = 8;
    std::map<std::size_t, std::int64_t> step_ns{{0, step_ns_of_best()}};
    const auto try_positions = [&](const std::vector<std::size_t>& positions) {
      std::vector<std::size_t> fresh;
      std::vector<Recomputed> choices;
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
    // Where nothing fits, what keeps least is nearest.
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

  /// More and less on the host of what `choice` keeps, or `keeps_more`, where that can matter.
  void add_on_host(Recomputed choice, const Recomputed* keeps_more) {
    if (moves_nothing() || host_would_gain_little()) return;
    const auto with_share = [](Recomputed with, double share) {
      with.offloaded_share = share;
      return with;
    };
    std::vector<Recomputed> with_all = {with_share(choice, 1)};
    if (keeps_more != nullptr) with_all.push_back(with_share(*keeps_more, 1));
    const std::vector<std::int64_t> steps_ns = add_all(with_all);
    if (steps_ns.back() < steps_ns.front()) choice = *keeps_more;
    const std::int64_t all_ns = std::min(steps_ns.front(), steps_ns.back());
    const std::int64_t half_ns = add(with_share(choice, 0.5));
    if (all_ns != half_ns) add(with_share(choice, all_ns < half_ns ? 0.75 : 0.25));
  }

  /// The best plan's activations where its gradients come later. That leaves room for more gradients,
  /// and what is on the host can change.
  void add_lent() {
    if (moves_nothing()) return;
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
      Recomputed choice = choice_of_best_;
      const std::int64_t lent_bytes = lendable_bytes_of_best();
      if (lent_bytes <= choice.lent_bytes) return;
      choice.lent_bytes = lent_bytes;
      const std::int64_t before_ns = step_ns_of_best();
      std::vector<Recomputed> choices = {choice};
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

  const Edited& start_;
  const hardware::HardwareProfile& hardware_;
  const Request& request_;
  std::int64_t kept_without_bytes_ = 0;
  std::optional<Outcome> best_;
  Recomputed choice_of_best_;
  std::mutex progress_;
  int begun_ = 0;  ///< searches
};

/// What is recomputed and what waits on the host is as the request says, or else as suits its
/// strategy.
Outcome searched(const Edited& start,
                 const hardware::HardwareProfile& hardware,
                 const Request& request) {
  Searches searches(start, hardware, request);
  if (request.recompute) {
    searches.add_with_host(chosen(start.program, *request.recompute));
  } else if (request.strategy == "optimal") {
    searches.add_fastest();
  } else {
    searches.add_with_host(chosen(start.program, Recompute::kBlocks));
  }
  return searches.take();
}

bool would_do(const Edited& start,
              const hardware::HardwareProfile& hardware,
              const Request& request) {
  return std::holds_alternative<Found>(searched(start, hardware, request));
}

/// A plan exists with the other arithmetic.
bool fused_would_do(const program::Program& captured,
                    const hardware::HardwareProfile& hardware,
                    const Request& request) {
  std::vector<std::string> losses_kept;
  const Edited start = started(captured, plan::Arithmetic::kFused, losses_kept);
  return !start.edits.edits.empty() &&
         std::holds_alternative<Found>(searched(start, hardware, request));
}

}  // namespace

std::vector<std::string> strategies() {
  return {"optimal", "minimum-waste", "simple", "elixir"};
}

Outcome search(const program::Program& program,
               const hardware::HardwareProfile& hardware,
               const Request& request) {
  check_request(request);
  std::vector<std::string> losses_kept;
  const plan::Arithmetic arithmetic =
      request.arithmetic.value_or(default_arithmetic(program.target.kind));
  const Edited start = started(program, arithmetic, losses_kept);
  Outcome outcome = searched(start, hardware, request);
  if (auto* found = std::get_if<Found>(&outcome)) found->losses_kept = losses_kept;
  auto* no = std::get_if<Infeasible>(&outcome);
  const auto suggest = [&](const char* flag, auto change) {
    Request other = request;
    change(other);
    if (!would_do(start, hardware, other)) return;
    no->remedies.insert(no->remedies.begin(),
                        {fmt::format("{} (finds a plan in these budgets)", flag)});
  };
  if (no != nullptr && request.strategy != "optimal") {
    suggest("--strategy optimal", [](Request& other) { other.strategy = "optimal"; });
  }
  if (no != nullptr && request.offload == edit::Offload::kNone) {
    suggest("--offload all", [](Request& other) { other.offload = edit::Offload::kAll; });
  }
  if (no != nullptr && request.recompute && *request.recompute != Recompute::kBlocks) {
    suggest("--recompute blocks", [](Request& other) { other.recompute = Recompute::kBlocks; });
  }
  const bool may_fuse = no != nullptr && arithmetic == plan::Arithmetic::kAsEager;
  if (may_fuse && fused_would_do(program, hardware, request)) {
    no->remedies.insert(no->remedies.begin(),
                        {"--arithmetic fused (finds a plan in these budgets)"});
  }
  return outcome;
}

}  // namespace elixir::search
