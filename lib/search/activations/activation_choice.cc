// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/activations/activation_choice.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "edit/loss/loss_gradient.h"
#include "edit/loss/token_mean.h"
#include "edit/offload.h"
#include "schedule/edited_program.h"

namespace elixir::search {
namespace {

EditedProgram with_edit(EditedProgram before, const plan::Edit& edit) {
  if (edit.storages.empty()) return before;
  before.program = schedule::apply_edits(std::move(before.program), {edit});
  before.edits.edits.push_back(edit);
  return before;
}

}  // namespace

ActivationChoice choice_of(const program::Program& program, edit::Recompute name) {
  ActivationChoice choice{.name = name, .storages = edit::choose(program, name)};
  std::sort(choice.storages.begin(), choice.storages.end());
  if (choice.storages.empty()) choice.name = edit::Recompute::kNone;
  return choice;
}

EditedProgram with_arithmetic(const program::Program& captured,
                              const WantedArithmetic& wanted,
                              std::vector<std::string>& losses_kept) {
  EditedProgram start{.edits = {.fingerprint = program::fingerprint(captured), .edits = {}},
                      .program = captured};
  const bool averages =
      wanted.average == plan::Average::kTokens && edit::find_token_mean(captured).has_value();
  std::optional<program::Program> given;
  if (averages || wanted.scales_loss) given = edit::take_loss_gradient(captured);
  if (wanted.scales_loss && !given) {
    throw Error(ErrorCode::kUnsupportedModel,
                "the loss cannot be scaled: backward does not begin with its gradient alone")
        .help("let forward return the loss itself, and train in bf16 or fp32 otherwise");
  }
  if (averages && given) start.edits.edits.push_back({.kind = plan::Edit::Kind::kAverageTokens});
  if (wanted.scales_loss) start.edits.edits.push_back({.kind = plan::Edit::Kind::kScaleLoss});
  if (!start.edits.edits.empty()) start.program = *std::move(given);
  if (wanted.arithmetic == plan::Arithmetic::kAsEager) return start;
  schedule::FusedArithmetic fused =
      schedule::with_fused_arithmetic(start.program, wanted.arithmetic);
  losses_kept = std::move(fused.losses_kept);
  start.edits.edits.insert(start.edits.edits.end(),
                           std::make_move_iterator(fused.edits.begin()),
                           std::make_move_iterator(fused.edits.end()));
  start.program = std::move(fused.program);
  return start;
}

EditedProgram with_choice(const EditedProgram& before, const ActivationChoice& choice) {
  EditedProgram result =
      with_edit(before, {.kind = plan::Edit::Kind::kRecompute, .storages = choice.storages});
  result.kept_bytes = edit::kept_bytes(result.program);
  plan::Edit offload{.kind = plan::Edit::Kind::kOffload};
  if (choice.offloaded_share > 0) {
    offload.storages = edit::worth_offloading(result.program, choice.offloaded_share);
  }
  offload.window_bytes = edit::offload_window_bytes(result.program, offload.storages);
  result = with_edit(std::move(result), offload);
  // Copies into lent memory stay on the device, and take no time that is worth a window.
  plan::Edit lend{.kind = plan::Edit::Kind::kOffload};
  if (choice.lent_bytes > 0) {
    lend.storages = edit::completed_last(result.program, choice.lent_bytes);
  }
  return with_edit(std::move(result), lend);
}

std::string description_of(const ActivationChoice& choice) {
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

}  // namespace elixir::search
