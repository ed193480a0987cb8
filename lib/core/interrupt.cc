// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/interrupt.h"

#include <atomic>

namespace elixir {
namespace {

std::atomic<int> requested{0};
std::atomic<int> finishing{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

}  // namespace

bool interrupted() noexcept {
  return requested.load(std::memory_order_relaxed) != 0;
}
int interrupt_signal() noexcept {
  return requested.load();
}
void request_interrupt(int signal) noexcept {
  requested.store(signal);
}
void clear_interrupt() noexcept {
  requested.store(0);
}

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

FinishesFirst::FinishesFirst() noexcept {
  ++finishing;
}
FinishesFirst::~FinishesFirst() {
  --finishing;
}
bool finishes_first() noexcept {
  return finishing.load() > 0;
}

}  // namespace elixir
