// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that fuses norms and elementwise operators. Each group (edit/fusion/fusion_groups.h)
// becomes one operator, which reads its inputs once and writes its results once; what is between is
// in registers, in fp32. So results are rounded less often than eager's and differ in the last
// bits: this is the arithmetic `fused-elementwise`.

#include "program/program.h"

namespace elixir::edit {

struct FusedElementwise {
  /// With the lifetimes of a replay. Storages keep their ids; a storage that is gone has no bytes.
  program::Program program;
  int groups = 0;   ///< 0: `program` is the one before
  int members = 0;  ///< operators that are in them
};

[[nodiscard]] FusedElementwise fuse_elementwise(const program::Program& program);

}  // namespace elixir::edit
