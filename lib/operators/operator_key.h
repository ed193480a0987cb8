// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/operators: what is known of one ATen call before it runs: its work, its key, its memory.
//
// Identity of a call for measurements: calls with the same key cost the same time and ask for the
// same workspaces on one kind of device, whatever program they are in.

#include <string>

#include "program/program.h"

namespace elixir::operators {

/// The name, the overload, and for each argument either dtype[sizes]/[strides] of its tensors or
/// its plain value. Contains no storage ids or versions.
[[nodiscard]] std::string operator_key(const program::Operator& op);

}  // namespace elixir::operators
