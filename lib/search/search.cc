// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/search.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "program/loss_scale.h"
#include "search/activations/activation_choice.h"
#include "search/activations/search_activations.h"
#include "search/problem.h"

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

bool would_do(const EditedProgram& start,
              const hardware::HardwareProfile& hardware,
              const Request& request) {
  return std::holds_alternative<Found>(search_activations(start, hardware, request));
}

/// With one micro-batch a step both averages are the same.
plan::Average average_of(const Request& request) {
  return request.accumulation_steps * request.gpus > 1 ? request.average
                                                       : plan::Average::kMicroBatches;
}

bool scales_loss(const program::Program& captured, const Request& request) {
  if (request.optimizer == program::Optimizer::kNone) return false;
  return request.loss_scale == LossScale::kAlways || program::needs_loss_scale(captured);
}

WantedArithmetic wanted_of(const program::Program& captured,
                           const Request& request,
                           plan::Arithmetic arithmetic) {
  return {arithmetic, average_of(request), scales_loss(captured, request)};
}

/// A plan exists with the other arithmetic.
bool fused_would_do(const program::Program& captured,
                    const hardware::HardwareProfile& hardware,
                    const Request& request) {
  std::vector<std::string> losses_kept;
  const EditedProgram start = with_arithmetic(
      captured, wanted_of(captured, request, plan::Arithmetic::kFused), losses_kept);
  const bool fuses = plan::arithmetic_of(start.edits.edits) == plan::Arithmetic::kFused;
  return fuses && would_do(start, hardware, request);
}

}  // namespace

std::vector<std::string> strategies() {
  return {"optimal", "minimum-waste", "simple", "elixir"};
}

Outcome search(const program::Program& program,
               const hardware::HardwareProfile& hardware,
               const Request& asked) {
  check_request(asked);
  Request request = asked;
  // A step is left out when any of its gradients is not finite, so its updates wait for all.
  request.clip_gradients |= scales_loss(program, request);
  std::vector<std::string> losses_kept;
  const plan::Arithmetic arithmetic =
      request.arithmetic.value_or(default_arithmetic(program.target.kind));
  const EditedProgram start =
      with_arithmetic(program, wanted_of(program, request, arithmetic), losses_kept);
  Outcome outcome = search_activations(start, hardware, request);
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
