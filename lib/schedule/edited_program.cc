// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/edited_program.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "edit/aligned_products.h"
#include "edit/fusion/fuse_elementwise.h"
#include "edit/loss/fused_loss.h"
#include "edit/loss/loss_gradient.h"
#include "edit/loss/token_mean.h"
#include "edit/offload.h"
#include "edit/recompute.h"

namespace elixir::schedule {
namespace {

constexpr const char* kSearchAgain =
    "make the plan again with elixir-search from this program's profile";

program::Program fused(const program::Program& program, std::size_t position) {
  edit::FusedLoss fused = edit::fuse_loss(program);
  if (fused.fused == 0) {
    throw Error(ErrorCode::kInconsistentPlan,
                "edit {} fuses a loss, but the program has none that can be fused",
                position)
        .note(fused.kept.front())
        .help(kSearchAgain);
  }
  return std::move(fused.program);
}

program::Program fused_elementwise(const program::Program& program, std::size_t position) {
  edit::FusedElementwise fused = edit::fuse_elementwise(program);
  if (fused.groups == 0) {
    throw Error(ErrorCode::kInconsistentPlan,
                "edit {} fuses norms and elementwise operators, but the program has none to fuse",
                position)
        .help(kSearchAgain);
  }
  return std::move(fused.program);
}

program::Program recomputed(const program::Program& program,
                            const std::vector<program::StorageId>& storages,
                            std::size_t position) {
  if (const auto storage = edit::not_made_by_forward(program, storages)) {
    throw Error(ErrorCode::kInconsistentPlan,
                "edit {} recomputes storage {}, which is not an activation of the program",
                position,
                *storage)
        .help(kSearchAgain);
  }
  return edit::recompute(program, storages).program;
}

program::Program aligned(program::Program program,
                         const std::vector<program::OperatorId>& products,
                         std::size_t position) {
  if (const auto product = edit::not_a_product(program, products)) {
    throw Error(ErrorCode::kInconsistentPlan,
                "edit {} aligns operator {}, which is no product of matrices",
                position,
                *product)
        .help(kSearchAgain);
  }
  return edit::align_products(std::move(program), products);
}

program::Program offloaded(const program::Program& program,
                           const plan::Edit& edit,
                           std::size_t position) {
  if (const auto storage = edit::not_offloadable(program, edit.storages)) {
    throw Error(ErrorCode::kInconsistentPlan,
                "edit {} offloads storage {}, which is not an activation that can wait on the host",
                position,
                *storage)
        .help(kSearchAgain);
  }
  return edit::offload(program, edit.storages, edit.window_bytes);
}

program::Program with_loss_gradient(program::Program program, std::size_t position) {
  std::optional<program::Program> edited = edit::take_loss_gradient(std::move(program));
  if (!edited) {
    throw Error(ErrorCode::kInconsistentPlan,
                "edit {} gives the gradient of the loss, with which backward does not begin",
                position)
        .help(kSearchAgain);
  }
  return *std::move(edited);
}

void check_average(const program::Program& program, std::size_t position) {
  if (edit::find_token_mean(program)) return;
  throw Error(ErrorCode::kInconsistentPlan,
              "edit {} averages over labels, but the program's loss is no mean over labels",
              position)
      .help(kSearchAgain);
}

}  // namespace

program::Program apply_edits(program::Program program, const std::vector<plan::Edit>& edits) {
  bool takes_loss_gradient = false;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    switch (edits[i].kind) {
      case plan::Edit::Kind::kFuseLoss:
        program = fused(program, i);
        break;
      case plan::Edit::Kind::kAlignProducts:
        program = aligned(std::move(program), edits[i].products, i);
        break;
      case plan::Edit::Kind::kFuseElementwise:
        program = fused_elementwise(program, i);
        break;
      case plan::Edit::Kind::kRecompute:
        program = recomputed(program, edits[i].storages, i);
        break;
      case plan::Edit::Kind::kOffload:
        program = offloaded(program, edits[i], i);
        break;
      case plan::Edit::Kind::kAverageTokens:
        check_average(program, i);
        [[fallthrough]];
      case plan::Edit::Kind::kScaleLoss:
        if (std::exchange(takes_loss_gradient, true)) break;
        program = with_loss_gradient(std::move(program), i);
        break;
    }
  }
  return program;
}

FusedArithmetic with_fused_arithmetic(const program::Program& captured,
                                      plan::Arithmetic arithmetic) {
  FusedArithmetic result;
  edit::FusedLoss loss = edit::fuse_loss(captured);
  if (loss.fused > 0) result.edits.push_back({.kind = plan::Edit::Kind::kFuseLoss});
  const bool has_one = std::any_of(
      captured.operators.begin(), captured.operators.end(), [](const program::Operator& op) {
        return op.name == "aten::nll_loss_forward" || op.name == "aten::_log_softmax";
      });
  if (has_one) result.losses_kept = std::move(loss.kept);
  result.program = std::move(loss.program);
  const std::vector<program::OperatorId> products = edit::unaligned_products(result.program);
  if (!products.empty()) {
    result.program = edit::align_products(std::move(result.program), products);
    result.edits.push_back({.kind = plan::Edit::Kind::kAlignProducts, .products = products});
  }
  if (arithmetic != plan::Arithmetic::kFusedElementwise) return result;
  edit::FusedElementwise elementwise = edit::fuse_elementwise(result.program);
  if (elementwise.groups > 0) {
    result.program = std::move(elementwise.program);
    result.edits.push_back({.kind = plan::Edit::Kind::kFuseElementwise});
  }
  return result;
}

program::Program edited_program(program::Program program, const plan::Plan& plan) {
  if (plan.edits.empty()) return program;
  program = apply_edits(std::move(program), plan.edits);
  const std::string fingerprint = program::fingerprint(program);
  if (fingerprint != plan.edited_fingerprint) {
    throw Error(ErrorCode::kInconsistentPlan,
                "the plan's edits lead to another program than the one that it was made for")
        .note("fingerprint of the edited program: {}", fingerprint)
        .note("fingerprint in the plan: {}", plan.edited_fingerprint)
        .help(kSearchAgain);
  }
  return program;
}

}  // namespace elixir::schedule
