// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "cross_entropy_problem.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "reference.h"

namespace elixir::kernels {

CrossEntropyProblem::CrossEntropyProblem(Element type, const RowsShape& shape, std::uint32_t seed) {
  const std::size_t stride = shape.classes + shape.padding;
  geometry_.type = type;
  geometry_.rows = shape.rows;
  geometry_.classes = shape.classes;
  geometry_.row_stride = shape.padding == 0 ? 0 : stride;
  geometry_.ignore_index = kIgnoredClass;
  geometry_.reduction = shape.reduction;
  geometry_.label_smoothing = shape.label_smoothing;
  logits.resize(shape.rows * stride * bytes_of(type));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  for (std::size_t i = 0; i < shape.rows * stride; ++i) {
    const bool padding = i % stride >= shape.classes;
    store(i, padding ? std::numeric_limits<float>::quiet_NaN() : normal(random));
  }
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const auto target = static_cast<std::int64_t>(random() % shape.classes);
    targets.push_back(row % 4 == 3 ? kIgnoredClass : target);
  }
  for (std::size_t c = 0; shape.weights && c < shape.classes; ++c) {
    weights.push_back(0.5F + static_cast<float>(c % 7));
  }
}

CrossEntropyRows CrossEntropyProblem::rows() {
  CrossEntropyRows of = geometry_;
  of.logits = logits.data();
  of.targets = targets.data();
  of.weights = weights.empty() ? nullptr : weights.data();
  return of;
}

void CrossEntropyProblem::set(std::size_t row, std::size_t c, float value) {
  store(first_of_row(geometry_, row) + c, value);
}

float CrossEntropyProblem::logit(std::size_t row, std::size_t c) const {
  return load(first_of_row(geometry_, row) + c);
}

bool CrossEntropyProblem::padding_is_untouched() const {
  for (std::size_t row = 0; row < geometry_.rows; ++row) {
    const std::size_t end = first_of_row(geometry_, row + 1);
    for (std::size_t i = first_of_row(geometry_, row) + geometry_.classes; i < end; ++i) {
      if (!std::isnan(load(i))) return false;
    }
  }
  return true;
}

void CrossEntropyProblem::store(std::size_t position, float value) {
  if (geometry_.type == Element::kFloat32) {
    std::memcpy(address(position), &value, sizeof value);
    return;
  }
  const std::uint16_t bits = geometry_.type == Element::kBFloat16 ? reference::to_bfloat16(value)
                                                                  : reference::to_float16(value);
  std::memcpy(address(position), &bits, sizeof bits);
}

float CrossEntropyProblem::load(std::size_t position) const {
  const std::uint8_t* at = logits.data() + position * bytes_of(geometry_.type);
  if (geometry_.type == Element::kFloat32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return geometry_.type == Element::kBFloat16 ? reference::bfloat16_value(bits)
                                              : reference::float16_value(bits);
}

}  // namespace elixir::kernels
