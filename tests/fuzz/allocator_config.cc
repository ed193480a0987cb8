// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes the text of PYTORCH_ALLOC_CONF.
#include "fuzz.h"
#include "memory/allocator/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using elixir::memory::AllocatorConfig;
  elixir::fuzz::refuses_or_reads([&] {
    const auto config = AllocatorConfig::parse(elixir::fuzz::text_of(data, size), "input");
    const std::string text = config.text();
    if (AllocatorConfig::parse(text, "again").text() != text) std::abort();
  });
  return 0;
}
