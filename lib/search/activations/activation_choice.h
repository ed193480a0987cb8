// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A choice of activations: which ones backward makes again, and where the others wait for it. And
// the program that makes the choice true.

#include <cstdint>
#include <string>
#include <vector>

#include "edit/activations.h"
#include "plan/plan.h"
#include "program/program.h"
#include "search/problem.h"

namespace elixir::search {

struct ActivationChoice {
  edit::Recompute name = edit::Recompute::kNone;
  std::vector<program::StorageId> storages;  ///< made again, ascending; empty: everything is kept
  double offloaded_share = 0;                ///< of the bytes that are kept, from 0 to 1
  std::int64_t lent_bytes =
      0;  ///< so many bytes of the others wait in GPU memory that gradients use later
};

/// The choice with a name, and everything that is kept on the device. kNone where there is nothing
/// to make again.
[[nodiscard]] ActivationChoice choice_of(const program::Program& program, edit::Recompute name);
/// "12 activations, 50 % of the others on the host".
[[nodiscard]] std::string description_of(const ActivationChoice& choice);

/// A program with the edits that led to it.
struct EditedProgram {
  Edits edits;
  program::Program program;
  std::int64_t kept_bytes = 0;  ///< of activations, on the device or the host
};

/// What is asked of a plan's results.
struct WantedArithmetic {
  plan::Arithmetic arithmetic = plan::Arithmetic::kAsEager;
  plan::Average average = plan::Average::kMicroBatches;  ///< tokens: where the loss is their mean
  bool scales_loss = false;
};
/// The program before anything is chosen: the captured one, with the gradient of its loss as an
/// input where the trainer gives it, fused where `wanted` asks for that. Sets `losses_kept` to why
/// losses were not fused, one sentence each. Throws kUnsupportedModel when the loss cannot be
/// scaled.
[[nodiscard]] EditedProgram with_arithmetic(const program::Program& captured,
                                            const WantedArithmetic& wanted,
                                            std::vector<std::string>& losses_kept);
/// The program for a choice. Sets `kept_bytes`.
[[nodiscard]] EditedProgram with_choice(const EditedProgram& before,
                                        const ActivationChoice& choice);

}  // namespace elixir::search
