// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/error.h"
#include "measure/adam/adam_pass.h"

namespace elixir::measure {

std::vector<double> gpu_adam_seconds(const AdamPass&, std::size_t, const Bench&) {
  throw Error(ErrorCode::kMissingFeature, "this build of Elixir has no CUDA");
}

}  // namespace elixir::measure
