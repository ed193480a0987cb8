// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds the submodule of an operator. Before the run, markers with the callee's name
// (`transformer.h.0`, from the chain of attribute reads) are put around every submodule call of
// every graph. During the run, the stack of these relative names is the path. It also distinguishes
// instances that share one scripted graph. Backward operators belong to the module that ran when
// their autograd node was created; nodes are numbered in that order.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/api/module.h>

namespace elixir::capture {

/// Inserts markers into all graphs of `module` and its submodules. The caller must do this once per
/// module, before its first run.
void insert_module_markers(const torch::jit::Module& module);

/// Follows the markers on this thread while it lives.
class ModuleTracker {
 public:
  explicit ModuleTracker(const torch::jit::Module& root);
  ~ModuleTracker();
  ModuleTracker(const ModuleTracker&) = delete;
  ModuleTracker& operator=(const ModuleTracker&) = delete;

  /// Position in paths() of the module that runs now.
  [[nodiscard]] std::int32_t current() const { return stack_.back(); }
  /// Position of the module that ran when the autograd node with number `sequence` was created; -1
  /// when none did.
  [[nodiscard]] std::int32_t made_in(std::uint64_t sequence) const;
  /// Position of the module that owns a parameter or buffer, by its full name; -1 when there is
  /// none.
  [[nodiscard]] std::int32_t owner_of(const std::string& tensor_name) const;
  /// named_modules() paths, the root "" first. Each module object is listed once, by its first
  /// name.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  void enter(const std::string& relative_path);
  void leave();

 private:
  struct Entered {
    std::uint64_t first_sequence;
    std::int32_t module;
  };
  void note();

  std::vector<std::string> paths_;
  std::unordered_map<std::string, std::int32_t> positions_;  ///< every name, aliases too
  std::vector<std::int32_t> stack_{0};
  std::vector<Entered> history_;  ///< ascending by first_sequence
  ModuleTracker* previous_;
};

}  // namespace elixir::capture
