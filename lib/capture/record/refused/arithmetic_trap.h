// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// An integer division by zero, or of the least number by -1, in a kernel of LibTorch is a signal,
// and no exception can be thrown out of its handler: the frames between are not compiled for it.
// The handler names the operator that ran, in a diagnostic, and ends the process with exit code 2.

namespace elixir::capture {

/// While it lives, SIGFPE is a diagnostic. Not reentrant.
class ArithmeticTrap {
 public:
  ArithmeticTrap();
  ~ArithmeticTrap();
  ArithmeticTrap(const ArithmeticTrap&) = delete;
  ArithmeticTrap& operator=(const ArithmeticTrap&) = delete;
};

/// The operator that this thread runs from now on; the text must stay where it is.
void note_operator(const char* name);

}  // namespace elixir::capture
