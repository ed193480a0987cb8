// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The CPU of this machine, as LibTorch and oneDNN see it. It is used only to name a target. What is
// captured depends on the target alone.

#include "program/program.h"

namespace elixir::capture {

/// oneDNN's instruction set here, limited by ONEDNN_MAX_CPU_ISA. If it contradicts LibTorch's own
/// answers (which dtypes oneDNN computes in), LibTorch's answers win.
[[nodiscard]] program::CpuIsa host_cpu_isa();

/// Adds this machine's instruction set to a `cpu` target without one. Other targets stay unchanged.
[[nodiscard]] program::Target resolved(program::Target target);

}  // namespace elixir::capture
