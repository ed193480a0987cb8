// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/edited_program.h"

#include <cstddef>
#include <string>
#include <utility>

#include "core/error.h"
#include "edit/fused_loss.h"
#include "edit/recompute.h"

namespace elixir::schedule {
namespace {

constexpr const char* kSearchAgain =
    "make the plan again with elixir-search from this program's profile";

}  // namespace

program::Program apply_edits(program::Program program, const std::vector<plan::Edit>& edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == plan::Edit::Kind::kFuseLoss) {
      edit::FusedLoss fused = edit::fuse_loss(program);
      if (fused.fused == 0) {
        throw Error(ErrorCode::kInconsistentPlan,
                    "edit {} fuses a loss, but the program has none that can be fused",
                    i)
            .note(fused.kept.front())
            .help(kSearchAgain);
      }
      program = std::move(fused.program);
      continue;
    }
    if (const auto storage = edit::not_made_by_forward(program, edits[i].storages)) {
      throw Error(ErrorCode::kInconsistentPlan,
                  "edit {} recomputes storage {}, which is not an activation of the program",
                  i,
                  *storage)
          .help(kSearchAgain);
    }
    program = edit::recompute(program, edits[i].storages).program;
  }
  return program;
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
