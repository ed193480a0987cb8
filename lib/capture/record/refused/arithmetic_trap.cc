// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/refused/arithmetic_trap.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace elixir::capture {
namespace {

constexpr int kExitInput = 2;  // the exit code of EX0304

thread_local const char* running = "";
struct sigaction before {};

void say(const char* text) {
  static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
}

/// Uses only async-signal-safe calls.
extern "C" void on_arithmetic_signal(int /*signal*/) {
  say("\nerror[EX0304]: the model divides an integer by zero, or the quotient overflows");
  if (*running != '\0') {
    say(", in ");
    say(running);
  }
  say("\n  = help: look for the divisor in the model's code and in the sizes of its inputs\n");
  ::_exit(kExitInput);
}

}  // namespace

ArithmeticTrap::ArithmeticTrap() {
  running = "";
  struct sigaction action {};
  action.sa_handler = on_arithmetic_signal;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGFPE, &action, &before);
}

ArithmeticTrap::~ArithmeticTrap() {
  ::sigaction(SIGFPE, &before, nullptr);
  running = "";
}

void note_operator(const char* name) {
  running = name;
}

}  // namespace elixir::capture
