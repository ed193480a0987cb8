// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What each module of a model takes, as a tree over module paths ("h.0.attn" is inside "h.0",
// which is inside "h", which is inside the root, ""). Every figure is inclusive: a module with all
// that is inside it. Exact as far as the program is: storages rounded up as the allocator does.

#include <cstdint>
#include <string>
#include <vector>

#include "memory/step/timeline.h"
#include "program/program.h"

namespace elixir::memory {

/// Parts of a module path that are told apart: a hostile path of very many must not cost their
/// square.
inline constexpr int kDeepestModule = 64;

struct ModuleMemory {
  std::string name;  ///< last part of the path; "" for the root
  std::string path;
  std::int32_t parent = -1;            ///< position in the tree; -1 for the root
  std::vector<std::int32_t> children;  ///< positions, in the model's order

  /// Parameters that bear any of its names, each once: modules that share one both have it.
  std::int64_t parameters_bytes = 0;
  /// Storages of category activation that its operators allocate.
  std::int64_t activations_bytes = 0;
  /// Most bytes allocated on the device, by anyone, while one of its operators runs; 0 without
  /// operators.
  std::int64_t peak_bytes = 0;
  std::int64_t operators = 0;  ///< calls, forward and backward
  std::int64_t flops = 0;
};

/// Parents before children; [0] is the root, which has unattributed operators too. Paths that
/// `Program::modules` skips ("h" of "h.0") are there. `timeline` is that of `program`.
[[nodiscard]] std::vector<ModuleMemory> module_memory(const program::Program& program,
                                                      const Timeline& timeline);

}  // namespace elixir::memory
