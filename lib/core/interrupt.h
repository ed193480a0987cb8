// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether somebody asked this process to stop (Ctrl-C, SIGTERM). Long work polls `interrupted()` at
// points where it can leave things whole, and returns or calls `throw_if_interrupted()`; the tools
// turn that into exit code 130 or 143. A tool ends within two seconds of the signal all the same,
// wherever it is, except where work takes its time with `FinishesFirst`.

#include <exception>

namespace elixir {

/// Thrown to leave long work; never an error. Catch it only to leave things whole, then rethrow.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

[[nodiscard]] bool interrupted() noexcept;
/// Number of the signal that asked, 0 when none did.
[[nodiscard]] int interrupt_signal() noexcept;
/// Async-signal-safe.
void request_interrupt(int signal) noexcept;
/// Forgets a request (tests, embedding programs).
void clear_interrupt() noexcept;
void throw_if_interrupted();

/// While one lives, a first signal waits for the work to end by itself, however long that takes:
/// for work that polls and must leave something whole, such as a step and its checkpoint. A second
/// signal still ends the process at once.
class FinishesFirst {
 public:
  FinishesFirst() noexcept;
  ~FinishesFirst();
  FinishesFirst(const FinishesFirst&) = delete;
  FinishesFirst& operator=(const FinishesFirst&) = delete;
};
/// Whether one lives. Async-signal-safe.
[[nodiscard]] bool finishes_first() noexcept;

}  // namespace elixir
