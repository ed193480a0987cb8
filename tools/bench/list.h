// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// elixir-bench --list: every measurement with its meaning, method and duration, and the reason if
// it is impossible on this machine.

#include <string>

#include "core/json.h"
#include "measure/measurement.h"

namespace elixir::tools {

struct Listing {
  Json document;
  std::string text;
};
[[nodiscard]] Listing list_measurements(const measure::Bench& bench);

}  // namespace elixir::tools
