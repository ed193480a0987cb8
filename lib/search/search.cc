// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/search.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "schedule/edited_program.h"
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

/// What may be recomputed, in the order in which it is tried.
std::vector<Recompute> choices(const Request& request) {
  if (request.recompute) return {*request.recompute};
  if (request.strategy != "optimal") return {Recompute::kBlocks};
  return {Recompute::kNone, Recompute::kElementwise, Recompute::kBlocks};
}

std::int64_t kept_bytes(const program::Program& program) {
  std::int64_t bytes = 0;
  for (const program::StorageId s : edit::kept_activations(program)) {
    bytes += program.storages[s].bytes;
  }
  return bytes;
}

/// The program with what `choice` recomputes.
struct Edited {
  Edits edits;
  program::Program program;
};
Edited edited(const program::Program& program, const std::string& fingerprint, Recompute choice) {
  Edited result{.edits = {.fingerprint = fingerprint, .edits = {}}, .program = program};
  std::vector<program::StorageId> storages = edit::choose(program, choice);
  if (storages.empty()) return result;
  std::sort(storages.begin(), storages.end());
  result.edits.edits.push_back(
      {.kind = plan::Edit::Kind::kRecompute, .storages = std::move(storages)});
  result.program = schedule::apply_edits(program, result.edits.edits);
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

/// A plan rather than none; of two refusals the one that lacks less.
Outcome better_of(Outcome first, Outcome second) {
  auto* found = std::get_if<Found>(&first);
  auto* other = std::get_if<Found>(&second);
  if (found != nullptr && other != nullptr) return better_of(std::move(*found), std::move(*other));
  if (found != nullptr) return first;
  if (other != nullptr) return second;
  return std::get<Infeasible>(second).shortfall_bytes < std::get<Infeasible>(first).shortfall_bytes
             ? std::move(second)
             : std::move(first);
}

Outcome search_choices(const program::Program& program,
                       const hardware::HardwareProfile& hardware,
                       const Request& request,
                       const std::vector<Recompute>& choices) {
  const std::string fingerprint = program::fingerprint(program);
  const std::int64_t kept_without_bytes = kept_bytes(program);
  std::optional<Outcome> best;
  for (const Recompute choice : choices) {
    throw_if_interrupted();
    const Edited variant = edited(program, fingerprint, choice);
    if (best && variant.edits.edits.empty()) continue;  // nothing can be recomputed
    Outcome outcome = search_edited(variant.program, variant.edits, hardware, request);
    if (auto* found = std::get_if<Found>(&outcome)) {
      found->recomputation = {.choice = variant.edits.edits.empty() ? Recompute::kNone : choice,
                              .kept_bytes = kept_bytes(variant.program),
                              .kept_without_bytes = kept_without_bytes};
      // All of it fits: more work in a step cannot make it faster.
      const bool nothing_to_gain = variant.edits.edits.empty() && !moves_anything(found->plan);
      if (!best && nothing_to_gain) return outcome;
    }
    best = best ? better_of(std::move(*best), std::move(outcome)) : std::move(outcome);
  }
  return std::move(*best);
}

}  // namespace

std::vector<std::string> strategies() {
  return {"optimal", "minimum-waste", "simple", "elixir"};
}

Outcome search(const program::Program& program,
               const hardware::HardwareProfile& hardware,
               const Request& request) {
  check_request(request);
  Outcome outcome = search_choices(program, hardware, request, choices(request));
  auto* no = std::get_if<Infeasible>(&outcome);
  const bool may_recompute_more =
      no != nullptr && request.recompute && *request.recompute != Recompute::kBlocks;
  if (may_recompute_more) {
    const Outcome more = search_choices(program, hardware, request, {Recompute::kBlocks});
    if (std::holds_alternative<Found>(more)) {
      no->remedies.insert(no->remedies.begin(),
                          {"--recompute blocks (finds a plan in these budgets)"});
    }
  }
  return outcome;
}

}  // namespace elixir::search
