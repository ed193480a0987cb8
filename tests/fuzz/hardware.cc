// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes hardware documents and the cost model made from them.
#include "fuzz.h"
#include "hardware/hardware_profile.h"
#include "hardware/operator_cost.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    const auto profile = elixir::hardware::parse_hardware(
        *elixir::JsonDocument::parse(std::string(elixir::fuzz::text_of(data, size)), "input"));
    static_cast<void>(elixir::hardware::fingerprint(profile));
    const elixir::hardware::CostModel model(profile);
    static_cast<void>(model.host_to_device_ns(1 << 20));
  });
  return 0;
}
