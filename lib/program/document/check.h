// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The rules of a program, checked after a document was read: whoever gets it may rely on them.

#include "core/json.h"
#include "program/program.h"

namespace elixir::program {

/// kJsonBadValue with the place in `document` that breaks a rule.
void check_program(const JsonDocument& document, const Program& program);

}  // namespace elixir::program
