// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes profile documents without changes. Most inputs stop at the fingerprint; `calls` goes
// further.
#include "fuzz.h"
#include "memory/step/timeline.h"
#include "program/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    const elixir::fuzz::InputFile file(elixir::fuzz::text_of(data, size));
    const auto profile = elixir::program::load_profile(file.path());
    static_cast<void>(elixir::memory::summarise(profile.program, profile.optimizer));
  });
  return 0;
}
