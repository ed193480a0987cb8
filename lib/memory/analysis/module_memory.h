// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory of each module of a model, as a tree over module paths: "h.0.attn" is inside "h.0", which
// is inside "h", which is inside the root, "". Every figure includes all modules inside. Figures
// are as exact as the program; storages are rounded up as the allocator does.

#include <cstdint>
#include <string>
#include <vector>

#include "memory/step/timeline.h"
#include "program/program.h"

namespace elixir::memory {

/// At most this many parts of a module path are separate levels. Without a limit, a hostile path
/// with very many parts would cost quadratic time and memory.
inline constexpr int kDeepestModule = 64;

struct ModuleMemory {
  std::string name;  ///< last part of the path; "" for the root
  std::string path;
  std::int32_t parent = -1;            ///< position in the tree; -1 for the root
  std::vector<std::int32_t> children;  ///< positions, in the model's order

  /// Parameters with a name in this module, each counted once. Modules that share a parameter both
  /// count it.
  std::int64_t parameters_bytes = 0;
  /// Storages of category activation that its operators allocate.
  std::int64_t activations_bytes = 0;
  /// The most that is allocated on the device in total while one of its operators runs; 0 without
  /// operators.
  std::int64_t peak_bytes = 0;
  std::int64_t operators = 0;  ///< calls, forward and backward
  std::int64_t flops = 0;
};

/// Parents come before children. [0] is the root, which includes unattributed operators. Paths that
/// `Program::modules` skips ("h" of "h.0") are included. `timeline` must be that of `program`.
[[nodiscard]] std::vector<ModuleMemory> module_memory(const program::Program& program,
                                                      const Timeline& timeline);

}  // namespace elixir::memory
