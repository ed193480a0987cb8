// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes sizes, times, counts and targets of the command line.
#include "core/units.h"
#include "fuzz.h"
#include "program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = elixir::fuzz::text_of(data, size);
  for (const auto& value :
       {elixir::parse_bytes(text), elixir::parse_duration_ns(text), elixir::parse_count(text)}) {
    if (value && *value < 0) std::abort();
  }
  if (const auto bytes = elixir::parse_bytes(text)) {
    static_cast<void>(elixir::format_bytes(*bytes));
  }
  static_cast<void>(elixir::expected_bytes(text));
  static_cast<void>(elixir::parse_percent(text));
  static_cast<void>(elixir::program::Target::parse(text));
  return 0;
}
