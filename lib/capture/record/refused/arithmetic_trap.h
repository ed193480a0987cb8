// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Handles the signal of an integer division by zero, or of the smallest number by -1, in a kernel
// of LibTorch. Its handler cannot throw, because the stack frames in between are not compiled for
// exceptions. So the handler prints a diagnostic that names the running operator, and ends the
// process with exit code 2.

namespace elixir::capture {

/// While it lives, SIGFPE gives a diagnostic. Not reentrant.
class ArithmeticTrap {
 public:
  ArithmeticTrap();
  ~ArithmeticTrap();
  ArithmeticTrap(const ArithmeticTrap&) = delete;
  ArithmeticTrap& operator=(const ArithmeticTrap&) = delete;
};

/// Sets the operator that this thread runs from now on. The text must stay valid.
void note_operator(const char* name);

}  // namespace elixir::capture
