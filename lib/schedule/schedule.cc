// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/schedule.h"

#include <array>

namespace elixir::schedule {

std::string_view name_of(Stream stream) {
  constexpr std::array<std::string_view, kStreamCount> kNames{
      "compute", "device_update", "host_to_device", "device_to_host", "collective", "cpu"};
  return kNames[static_cast<std::size_t>(stream)];
}

std::string_view name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kLoadInputs:
      return "load_inputs";
    case TaskKind::kCompute:
      return "compute";
    case TaskKind::kFetch:
      return "fetch";
    case TaskKind::kEvict:
      return "evict";
    case TaskKind::kStoreGradient:
      return "store_gradient";
    case TaskKind::kAccumulate:
      return "accumulate";
    case TaskKind::kGradientNorm:
      return "gradient_norm";
    case TaskKind::kClip:
      return "clip";
    case TaskKind::kMoveGradients:
      return "move_gradients";
    case TaskKind::kUpdate:
      return "update";
    case TaskKind::kLoadState:
      return "load_state";
    case TaskKind::kStoreState:
      return "store_state";
    case TaskKind::kMoveParameters:
      return "move_parameters";
    case TaskKind::kReadLoss:
      return "read_loss";
    case TaskKind::kOffload:
      return "offload";
    case TaskKind::kReload:
      return "reload";
  }
  return "unknown";
}

}  // namespace elixir::schedule
