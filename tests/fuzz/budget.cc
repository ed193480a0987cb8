// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes budget documents.
#include "check/budget.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    static_cast<void>(elixir::check::parse_budget(
        *elixir::JsonDocument::parse(std::string(elixir::fuzz::text_of(data, size)), "input")));
  });
  return 0;
}
