// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Fused operators on the CPU: an interpreter that does one step after the other on tiles that stay
// in the L1 cache. Sums are made in a fixed order that depends on the number of columns alone.

#include "replay/fused/fused_job.h"

namespace elixir::replay {

/// Fills the job's outputs, on LibTorch's threads.
void run_fused_on_cpu(const FusedJob& job);

}  // namespace elixir::replay
