// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Requests to stop this process (Ctrl-C, SIGTERM). Long work must poll `interrupted()` where it can
// stop without leaving anything half done, and then return or call `throw_if_interrupted()`. The
// tools turn that into exit code 130 or 143. Without FinishesFirst, a tool ends within two seconds
// of the signal, wherever it is.

#include <exception>

namespace elixir {

/// Thrown to leave long work. It is not an error: catch it only to clean up, then rethrow.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

[[nodiscard]] bool interrupted() noexcept;
/// The number of the signal; 0 without a request.
[[nodiscard]] int interrupt_signal() noexcept;
/// Async-signal-safe.
void request_interrupt(int signal) noexcept;
/// Forgets a request. For tests and programs that embed Elixir.
void clear_interrupt() noexcept;
void throw_if_interrupted();

/// While an instance lives, the first signal waits until the work ends by itself, however long that
/// takes. For work that polls but must finish one unit, such as a step and its checkpoint. A second
/// signal still ends the process at once.
class FinishesFirst {
 public:
  FinishesFirst() noexcept;
  ~FinishesFirst();
  FinishesFirst(const FinishesFirst&) = delete;
  FinishesFirst& operator=(const FinishesFirst&) = delete;
};
/// Whether an instance of FinishesFirst lives. Async-signal-safe.
[[nodiscard]] bool finishes_first() noexcept;

}  // namespace elixir
