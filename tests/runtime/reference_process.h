// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer of tests/reference, started when it is first asked for and kept until the test ends.

#include <string>
#include <vector>

namespace elixir::runtime {

/// Trains with the arguments of a line of `tests/reference/reference_trainer.cc`. What it prints: a
/// loss a line. Throws std::runtime_error when the training fails.
std::vector<std::string> run_reference_trainer(const std::vector<std::string>& arguments);

}  // namespace elixir::runtime
