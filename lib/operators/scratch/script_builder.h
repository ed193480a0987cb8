// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes the script of one call. A rule says what it must; what it leaves out follows by itself:
// outputs that it does not name come after all it has said, in order, and temporaries that it does
// not release are released at the end.

#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/scratch/call_script.h"
#include "program/arguments/arguments.h"

namespace elixir::operators {

inline constexpr std::int64_t kFloatBytes = 4;

class ScriptBuilder {
 public:
  /// `fresh`: storages that the call allocates, in the order of its outputs.
  ScriptBuilder(const program::Operator& op,
                std::vector<program::StorageId> fresh,
                const program::Program& program,
                const CudaTraits& traits);

  /// The call's arguments by name, as `program::Arguments` has them.
  [[nodiscard]] const program::TensorRef* tensor(std::string_view name) const {
    return arguments_.tensor(name);
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return arguments_.integer(name).value_or(otherwise);
  }
  [[nodiscard]] double number(std::string_view name, double otherwise) const {
    return arguments_.number(name).value_or(otherwise);
  }
  [[nodiscard]] bool flag(std::string_view name) const { return arguments_.flag(name); }
  [[nodiscard]] const program::Arguments& arguments() const { return arguments_; }
  [[nodiscard]] const program::Operator& op() const { return op_; }
  [[nodiscard]] const CudaTraits& traits() const { return traits_; }
  [[nodiscard]] std::size_t output_count() const { return fresh_.size(); }
  [[nodiscard]] std::int64_t output_bytes(std::size_t position) const;

  /// The `position`-th fresh output now; nothing when there is none or it is there already.
  void output(std::size_t position);
  /// All fresh outputs that are not there yet.
  void outputs();
  /// Scratch memory; -1 for no bytes.
  int temporary(std::int64_t bytes);
  void release(int temporary);
  /// What the process keeps, and scratch memory for making it.
  void persistent(std::int64_t bytes);
  void once(std::int64_t bytes);
  void measured() { source_ = ScriptSource::kMeasured; }
  void modelled() { source_ = ScriptSource::kModelled; }

  [[nodiscard]] CallScript finish();

 private:
  const program::Operator& op_;
  program::Arguments arguments_;
  const program::Program& program_;
  const CudaTraits& traits_;
  std::vector<program::StorageId> fresh_;
  std::vector<bool> there_;
  std::vector<ScriptStep> steps_;
  std::vector<int> held_;
  int temporaries_ = 0;
  ScriptSource source_ = ScriptSource::kExact;
};

/// Whether a tensor's elements are one block in row-major order.
[[nodiscard]] bool is_contiguous(const program::TensorRef& tensor);

}  // namespace elixir::operators
