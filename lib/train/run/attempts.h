// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The attempts of a run. An attempt is one start of elixir-train, with all its ranks: the first
// one, and each --resume. It goes on from a checkpoint of an attempt before it, its parent. An
// attempt that goes on from an older checkpoint than the newest one leaves a branch behind, whose
// later checkpoints are of another training. So a checkpoint belongs to the run only where it is on
// the branch that leads back from the newest attempt.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace elixir::train {

struct Attempt {
  struct Parent {
    std::string id;         ///< the attempt that wrote the checkpoint
    std::int64_t step = 0;  ///< of the checkpoint
    bool operator==(const Parent&) const = default;
  };
  std::string id;                ///< draw_id()
  std::optional<Parent> parent;  ///< nullopt: it began at the first step
  bool operator==(const Attempt&) const = default;
};

inline constexpr std::size_t kIdLetters = 32;
/// 128 random bits as hex digits.
[[nodiscard]] std::string draw_id();

[[nodiscard]] Json to_json(const Attempt& attempt);
[[nodiscard]] Attempt read_attempt(const JsonCursor& record);

/// The attempts of one run, oldest first.
[[nodiscard]] Json to_json(const std::vector<Attempt>& attempts);
/// Throws kJsonBadValue when a parent is no attempt before, or two have one id.
[[nodiscard]] std::vector<Attempt> read_attempts(const JsonCursor& list);

/// Whether a checkpoint of this step by `attempt` is on the branch that ends in the last of
/// `attempts`.
[[nodiscard]] bool is_on_branch(const std::vector<Attempt>& attempts,
                                const Attempt& attempt,
                                std::int64_t step);

}  // namespace elixir::train
