// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes recorded traces of LibTorch's allocator.
#include "fuzz.h"
#include "memory/recorded/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    static_cast<void>(
        elixir::memory::read_recorded_trace(elixir::fuzz::text_of(data, size), "input"));
  });
  return 0;
}
