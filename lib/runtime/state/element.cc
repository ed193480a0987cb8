// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/element.h"

#include "core/error.h"

namespace elixir::runtime {

std::optional<kernels::Element> element_if_known(program::DType dtype) {
  switch (dtype) {
    case program::DType::kFloat32:
      return kernels::Element::kFloat32;
    case program::DType::kBFloat16:
      return kernels::Element::kBFloat16;
    case program::DType::kFloat16:
      return kernels::Element::kFloat16;
    default:
      return std::nullopt;
  }
}

kernels::Element element_of(program::DType dtype) {
  const auto element = element_if_known(dtype);
  if (!element) {
    throw Error(
        ErrorCode::kUnsupportedModel, "parameters of dtype {} cannot be trained", name_of(dtype));
  }
  return *element;
}

}  // namespace elixir::runtime
