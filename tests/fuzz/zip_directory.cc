// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes the directory of an archive.
#include "capture/archive/zip_directory.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const elixir::fuzz::InputFile file(elixir::fuzz::text_of(data, size));
  static_cast<void>(elixir::capture::read_zip_directory(file.descriptor(), size));
  return 0;
}
