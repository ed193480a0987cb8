// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes safetensors files: an accepted file can be read to its last byte.
#include "train/weights/safetensors.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    const elixir::fuzz::InputFile file(elixir::fuzz::text_of(data, size));
    const auto tensors = elixir::train::Safetensors::open(file.path());
    for (const auto& entry : tensors->entries()) {
      if (entry.dtype) static_cast<void>(tensors->tensor(entry).clone());
    }
  });
  return 0;
}
