// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Backward operators return only the gradients that their output mask requests.

#include <functional>
#include <initializer_list>

#include "capture/record/arguments/values.h"

namespace elixir::capture {

/// One result per maker: made where `mask` is true, undefined elsewhere.
[[nodiscard]] inline Values by_mask(const c10::List<bool>& mask,
                                    std::initializer_list<std::function<at::Tensor()>> makers) {
  Values results;
  std::size_t position = 0;
  for (const auto& make : makers) results.emplace_back(mask[position++] ? make() : at::Tensor());
  return results;
}

}  // namespace elixir::capture
