// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes plan documents: an accepted document is written and read again.
#include "plan/plan.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using elixir::JsonDocument;
  elixir::fuzz::refuses_or_reads([&] {
    const auto plan = elixir::plan::parse_plan(
        *JsonDocument::parse(std::string(elixir::fuzz::text_of(data, size)), "input"));
    const std::string text = elixir::dump(elixir::plan::to_json(plan));
    const auto again = elixir::plan::parse_plan(*JsonDocument::parse(text, "again"));
    if (elixir::dump(elixir::plan::to_json(again)) != text) std::abort();
  });
  return 0;
}
