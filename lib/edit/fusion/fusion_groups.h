// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which operators become one (edit/fusion/fuse_elementwise.h). A group is a set of operators of one
// phase over one shape, each connected with another by a value that one makes or both read. All run
// at the place of one of them: nothing that the group needs is made later, nothing that needs the
// group runs earlier. The program's peak does not rise: while a group's operators run, no more
// memory is in use at once than before, there or elsewhere in the same block. In forward a group
// stays inside a repeated block, and inside or outside of what recomputing norms and elementwise
// operators makes again, so that recomputing can choose as before.

#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

struct FusionGroup {
  std::vector<program::OperatorId> members;  ///< at least two, ascending
  program::OperatorId place = -1;            ///< the member where all run
  program::Operator fused;                   ///< operators::kFused
  /// Whose content exists only inside, and which need no memory.
  std::vector<program::StorageId> gone;
};

/// The groups of a program, by the program alone, in the order of their first members. No operator
/// is in two of them.
[[nodiscard]] std::vector<FusionGroup> fusion_groups(const program::Program& program);

}  // namespace elixir::edit
