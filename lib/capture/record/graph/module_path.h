// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which submodule an operator belongs to. Before the run, markers that name the callee are put
// around every submodule call of every graph (`transformer.h.0`, from the chain of attribute
// reads); during the run the stack of relative names is the path, which also tells instances apart
// that share one scripted graph. Backward operators belong to the module that was running when
// their autograd node was made: nodes are numbered in that order.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/api/module.h>

namespace elixir::capture {

/// Puts markers into all graphs of `module` and its submodules. Once a module, before its first
/// run.
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
  /// Of the module that ran when the autograd node numbered `sequence` was made; -1 when none did.
  [[nodiscard]] std::int32_t made_in(std::uint64_t sequence) const;
  /// Of the module that owns a parameter or buffer, by its full name; -1 when there is none.
  [[nodiscard]] std::int32_t owner_of(const std::string& tensor_name) const;
  /// named_modules() paths, the root "" first; each module object once, under its first name.
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
