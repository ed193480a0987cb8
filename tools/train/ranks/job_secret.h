// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The secret by which the ranks of a job know each other (runtime/ranks/gate.h).

#include <string>

#include "tools/train/ranks/variables.h"

namespace elixir::tools {

/// Environment variables: the secret itself, or the path of a file that only its owner can read.
inline constexpr const char* kJobSecretVariable = "ELIXIR_JOB_SECRET";
inline constexpr const char* kJobSecretFileVariable = "ELIXIR_JOB_SECRET_FILE";

/// What the variables say. Where they say nothing: for ranks `on_one_machine` that of this user on
/// this machine, in a file that is made by the rank that comes first; else empty. Throws
/// kBadFlagValue for one that could be guessed, kFileUnreadable for a file that others can read.
[[nodiscard]] std::string job_secret(const Variables& variables, bool on_one_machine);

}  // namespace elixir::tools
