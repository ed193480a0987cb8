// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// TorchScript archives, through LibTorch's loader.
#include "capture/capture.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    const elixir::fuzz::InputFile file(elixir::fuzz::text_of(data, size));
    const auto model = elixir::capture::Model::load(file.path());
    static_cast<void>(model.input_names());
    static_cast<void>(model.traced_inputs());
  });
  return 0;
}
