// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes the shapes of `--input`.
#include "fuzz.h"
#include "model/options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = elixir::model::InputSpec::parse(std::string(elixir::fuzz::text_of(data, size)));
  if (!spec) return 0;
  for (const std::int64_t each : spec->sizes) {
    if (each < 0) std::abort();
  }
  return 0;
}
