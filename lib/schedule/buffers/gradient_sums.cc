// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/gradient_sums.h"

namespace elixir::schedule {

std::int64_t gradient_sums_bytes(const program::Program& program) {
  std::int64_t sums = 0;
  for (const program::Parameter& parameter : program.parameters) {
    if (parameter.gradient) sums += gradient_sums(parameter.gradient->numel());
  }
  return sums * static_cast<std::int64_t>(sizeof(float)) + kClipBytes;
}

}  // namespace elixir::schedule
