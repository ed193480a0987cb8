// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which CPU this process runs on, as LibTorch and oneDNN see it. Asked once, to name a target; what
// is captured depends on the target alone.

#include "program/program.h"

namespace elixir::capture {

/// oneDNN's instruction set here, ONEDNN_MAX_CPU_ISA included. Where that and LibTorch's own
/// answers (which dtypes oneDNN computes in) contradict each other, LibTorch's are followed.
[[nodiscard]] program::CpuIsa host_cpu_isa();

/// `cpu` without an instruction set becomes this machine's; every other target stays.
[[nodiscard]] program::Target resolved(program::Target target);

}  // namespace elixir::capture
