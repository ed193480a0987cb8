// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes the directory of an archive, and the bounds of its records.
#include "capture/archive/zip_directory.h"
#include "capture/archive/record_check.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const elixir::fuzz::InputFile file(elixir::fuzz::text_of(data, size));
  static_cast<void>(elixir::capture::check_record_sizes(
      elixir::capture::read_zip_directory(file.descriptor(), size)));
  return 0;
}
