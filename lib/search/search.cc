// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "edit/frontier.h"
#include "hardware/operator_cost.h"
#include "schedule/edited_program.h"
#include "schedule/simulate.h"
#include "search/search_edited.h"

namespace elixir::search {
namespace {

using edit::Recompute;

void check_request(const Request& request) {
  if (request.gpus != 1) {
    throw Error(
        ErrorCode::kBadFlagValue, "plans for {} GPUs are not made by this version", request.gpus)
        .help("--gpus 1");
  }
  if (request.accumulation_steps < 1) {
    throw Error(ErrorCode::kBadFlagValue, "{} accumulation steps", request.accumulation_steps)
        .help("a number from 1 on");
  }
}

/// One way to choose what is recomputed.
struct Recomputed {
  Recompute name = Recompute::kNone;
  std::vector<program::StorageId> storages;  ///< ascending; empty: everything is kept
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
};
/// The program before anything is recomputed: the captured one, fused where that is asked for.
Edited started(const program::Program& captured,
               plan::Arithmetic arithmetic,
               std::vector<std::string>& losses_kept) {
  Edits edits{.fingerprint = program::fingerprint(captured), .edits = {}};
  if (arithmetic == plan::Arithmetic::kAsEager) {
    return {.edits = std::move(edits), .program = captured};
  }
  schedule::FusedArithmetic fused = schedule::with_fused_arithmetic(captured);
  losses_kept = std::move(fused.losses_kept);
  edits.edits = std::move(fused.edits);
  return {.edits = std::move(edits), .program = std::move(fused.program)};
}

Edited edited(const Edited& before, const Recomputed& choice) {
  if (choice.storages.empty()) return before;
  const plan::Edit edit{.kind = plan::Edit::Kind::kRecompute, .storages = choice.storages};
  Edited result{.edits = before.edits, .program = schedule::apply_edits(before.program, {edit})};
  result.edits.edits.push_back(edit);
  return result;
}

Candidate summary_of(const Found& found) {
  return {.description = fmt::format(
              "recompute {}: {}", edit::name_of(found.recomputation.choice), found.description),
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
  if (second.minimum_gpu_memory_bytes < first.minimum_gpu_memory_bytes) {
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

/// Searches with one choice after the other; the best of them.
class Searches {
 public:
  /// `start` is the program before anything is recomputed. It must outlive this object.
  Searches(const Edited& start, const hardware::HardwareProfile& hardware, const Request& request)
      : start_(start),
        hardware_(hardware),
        request_(request),
        kept_without_bytes_(edit::kept_bytes(start.program)) {}

  /// Returns the step's time; nullopt when no plan fits.
  std::optional<std::int64_t> add(const Recomputed& choice) {
    throw_if_interrupted();
    if (request_.on_progress) {
      // An estimate: how many searches there will be depends on what they find.
      constexpr double kMostSearches = 9;
      request_.on_progress(
          std::min(static_cast<double>(done_++) / kMostSearches, 1.0),
          fmt::format("searches a plan, recomputing {}",
                      choice.storages.empty()
                          ? std::string("nothing")
                          : fmt::format("{} activations", choice.storages.size())));
    }
    const Edited variant = edited(start_, choice);
    Outcome outcome = search_edited(variant.program, variant.edits, hardware_, request_);
    std::optional<std::int64_t> step_ns;
    if (auto* found = std::get_if<Found>(&outcome)) {
      step_ns = found->plan.predicted.step_ns;
      found->recomputation = {
          .choice = choice.name,
          .recompute_ns =
              choice.storages.empty()
                  ? 0
                  : schedule::recompute_ns(variant.program, hardware::CostModel(hardware_)),
          .kept_bytes = edit::kept_bytes(variant.program),
          .kept_without_bytes = kept_without_bytes_};
    }
    best_ = best_ ? better_of(std::move(*best_), std::move(outcome)) : std::move(outcome);
    return step_ns;
  }
  /// The search's own choice: whatever is fastest. Each point takes a search of its own, so only
  /// some are tried: a few over the whole frontier, then some beside the fastest.
  void add_fastest() {
    constexpr int kRounds = 2;
    std::map<std::size_t, std::int64_t> step_ns{{0, add({}).value_or(kNoPlan)}};
    // All of it fits: more work in a step cannot make it faster.
    const auto* found = std::get_if<Found>(&*best_);
    if (found != nullptr && !moves_anything(found->plan)) return;
    const std::vector<edit::FrontierPoint> points = edit::frontier(
        start_.program, schedule::operator_ns(start_.program, hardware::CostModel(hardware_)));
    const auto try_point = [&](std::size_t position) {
      if (step_ns.count(position) > 0) return;
      step_ns[position] = add({.name = Recompute::kFrontier, .storages = points[position].storages})
                              .value_or(kNoPlan);
    };
    for (const std::size_t position : edit::spread_over(points)) try_point(position);
    for (int round = 0; round < kRounds; ++round) {
      const auto fastest =
          std::min_element(step_ns.begin(), step_ns.end(), [](const auto& one, const auto& other) {
            return one.second < other.second;
          });
      const std::size_t at = fastest->first;
      const auto after = std::next(fastest);
      const std::size_t left = fastest == step_ns.begin() ? at : std::prev(fastest)->first;
      const std::size_t right = after == step_ns.end() ? at : after->first;
      try_point(left + (at - left) / 2);
      try_point(at + (right - at + 1) / 2);
    }
  }
  [[nodiscard]] Outcome take() { return std::move(*best_); }

 private:
  static constexpr std::int64_t kNoPlan = std::numeric_limits<std::int64_t>::max();

  const Edited& start_;
  const hardware::HardwareProfile& hardware_;
  const Request& request_;
  std::int64_t kept_without_bytes_ = 0;
  std::optional<Outcome> best_;
  int done_ = 0;
};

/// What is recomputed is as the request says, or else as suits its strategy.
Outcome searched(const Edited& start,
                 const hardware::HardwareProfile& hardware,
                 const Request& request) {
  Searches searches(start, hardware, request);
  if (request.recompute) {
    searches.add(chosen(start.program, *request.recompute));
  } else if (request.strategy == "optimal") {
    searches.add_fastest();
  } else {
    searches.add(chosen(start.program, Recompute::kBlocks));
  }
  return searches.take();
}

/// A plan exists that recomputes blocks.
bool blocks_would_do(const Edited& start,
                     const hardware::HardwareProfile& hardware,
                     Request request) {
  request.recompute = Recompute::kBlocks;
  return std::holds_alternative<Found>(searched(start, hardware, request));
}

/// A plan exists with the other arithmetic.
bool fused_would_do(const program::Program& captured,
                    const hardware::HardwareProfile& hardware,
                    Request request) {
  request.arithmetic = plan::Arithmetic::kFused;
  std::vector<std::string> losses_kept;
  const Edited start = started(captured, request.arithmetic, losses_kept);
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
  const Edited start = started(program, request.arithmetic, losses_kept);
  Outcome outcome = searched(start, hardware, request);
  if (auto* found = std::get_if<Found>(&outcome)) found->losses_kept = losses_kept;
  auto* no = std::get_if<Infeasible>(&outcome);
  const bool may_recompute_more =
      no != nullptr && request.recompute && *request.recompute != Recompute::kBlocks;
  if (may_recompute_more && blocks_would_do(start, hardware, request)) {
    no->remedies.insert(no->remedies.begin(),
                        {"--recompute blocks (finds a plan in these budgets)"});
  }
  const bool may_fuse = no != nullptr && request.arithmetic == plan::Arithmetic::kAsEager;
  if (may_fuse && fused_would_do(program, hardware, request)) {
    no->remedies.insert(no->remedies.begin(),
                        {"--arithmetic fused (finds a plan in these budgets)"});
  }
  return outcome;
}

}  // namespace elixir::search
