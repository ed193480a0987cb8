// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/layers.h"

#include <algorithm>

#include "program/names/labels.h"

namespace elixir::report {

std::string_view layer_key(Layer layer) {
  return layer ? program::name_of(*layer) : "workspace";
}

std::string layer_label(Layer layer) {
  return layer ? program::label_of(*layer) : "workspace";
}

std::int64_t layer_bytes(const memory::Timeline& timeline, program::OperatorId op, Layer layer) {
  const auto at = static_cast<std::size_t>(op);
  return layer ? timeline.by_category_bytes[at][static_cast<std::size_t>(*layer)]
               : timeline.scratch_bytes[at];
}

std::int64_t layer_at_peak(const memory::Timeline& timeline, Layer layer) {
  return layer ? timeline.peak_by_category_bytes[static_cast<std::size_t>(*layer)]
               : timeline.peak_scratch_bytes;
}

std::int64_t layer_most(const memory::Timeline& timeline, Layer layer) {
  std::int64_t most = layer_at_peak(timeline, layer);
  const auto operators = static_cast<program::OperatorId>(timeline.by_category_bytes.size());
  for (program::OperatorId op = 0; op < operators; ++op) {
    most = std::max(most, layer_bytes(timeline, op, layer));
  }
  return most;
}

}  // namespace elixir::report
