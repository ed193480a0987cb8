// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs a program without numbers: the content of a storage is a digest of the calls that made it.
// Two programs with equal digests of loss, gradients and buffers compute the same. Of edits it
// knows only that what moves to the host and back stays the same.

#include <cstdint>
#include <map>
#include <string>

#include "program/program.h"

namespace elixir::tests {

struct SymbolicResult {
  std::uint64_t loss = 0;
  std::map<std::string, std::uint64_t> gradients;  ///< by parameter
  std::map<std::string, std::uint64_t> buffers;    ///< what the step leaves in them
  std::int64_t peak_bytes = 0;  ///< of what operators make, released at its last use
  std::int64_t operators = 0;   ///< that ran

  [[nodiscard]] bool computes_the_same_as(const SymbolicResult& other) const {
    return loss == other.loss && gradients == other.gradients && buffers == other.buffers;
  }
};

/// Runs the program as a replay does. Throws std::logic_error when an operator reads a storage that
/// does not exist or has another version than stated.
[[nodiscard]] SymbolicResult run_symbolically(const program::Program& program);

}  // namespace elixir::tests
