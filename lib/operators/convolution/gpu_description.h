// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A description of a GPU, as cuDNN writes and reads it (profiles/gpus). cuDNN believes whatever it
// says, so it is checked before cuDNN is asked.

#include <optional>

#include "core/json.h"

namespace elixir::operators {

/// Throws kJsonBadValue unless the counts that cuDNN computes with are positive and, with `sm`, the
/// compute capability (times ten) is that one. Returns the number of multiprocessors.
int check_gpu_description(const JsonDocument& document, std::optional<int> sm);

}  // namespace elixir::operators
