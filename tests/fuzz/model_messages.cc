// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes what the process that reads a model file may answer. The first byte says which answer.
#include "fuzz.h"
#include "model/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(elixir::fuzz::text_of(data + 1, size - 1));
  elixir::fuzz::refuses_or_reads([&] {
    switch (data[0] % 4) {
      case 0:
        static_cast<void>(elixir::model::read_ready(text));
        return;
      case 1:
        static_cast<void>(elixir::model::read_opened(text));
        return;
      case 2:
        static_cast<void>(elixir::model::read_capture_notes(text));
        return;
      default:
        static_cast<void>(elixir::model::read_error(text));
    }
  });
  return 0;
}
