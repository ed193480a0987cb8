// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes the check of an archive's code.
#include "capture/archive/code_check.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(elixir::capture::check_code(elixir::fuzz::text_of(data, size)));
  return 0;
}
