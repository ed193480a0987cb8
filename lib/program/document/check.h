// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks the rules of a program after its document was read. Code that gets a loaded program may
// rely on these rules.

#include "core/json.h"
#include "program/program.h"

namespace elixir::program {

/// Throws kJsonBadValue at the place in `document` that breaks a rule.
void check_program(const JsonDocument& document, const Program& program);

}  // namespace elixir::program
