// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A program of one call, and the script and label that it gets on an H200.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "operators/scratch/call_script.h"
#include "program/program.h"

namespace elixir::operators {

using program::Bools;
using program::DType;
using program::Ints;
using program::Program;
using program::TensorRef;

inline const program::Target kHopper{.kind = program::Target::Kind::kCuda, .sm = 90};

/// In row-major order.
inline TensorRef tensor(Ints sizes, DType dtype = DType::kFloat32) {
  TensorRef ref;
  ref.dtype = dtype;
  ref.sizes = std::move(sizes);
  ref.strides.assign(ref.sizes.size(), 1);
  for (std::size_t i = ref.sizes.size(); i-- > 1;) {
    ref.strides[i - 1] = ref.strides[i] * ref.sizes[i];
  }
  return ref;
}

/// Images whose channels come last.
inline TensorRef channels_last(Ints sizes, DType dtype = DType::kFloat32) {
  TensorRef ref = tensor(std::move(sizes), dtype);
  const Ints& n = ref.sizes;
  ref.strides = {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]};
  return ref;
}

/// A program of one call.
class Call {
 public:
  Call(std::string name, std::string overload = "") {
    op_.id = 0;
    op_.name = std::move(name);
    op_.overload = std::move(overload);
  }
  Call& tensor_argument(TensorRef ref) {
    ref.storage = add_storage(ref, -1);
    op_.arguments.emplace_back(std::move(ref));
    return *this;
  }
  Call& argument(program::Argument value) {
    op_.arguments.push_back(std::move(value));
    return *this;
  }
  Call& output(TensorRef ref) {
    ref.storage = add_storage(ref, 0);
    op_.outputs.emplace_back(std::move(ref));
    return *this;
  }
  /// A result that is no tensor.
  Call& argument_output(program::Argument value) {
    op_.outputs.push_back(std::move(value));
    return *this;
  }
  Call& on_host_argument(TensorRef ref) {
    tensor_argument(std::move(ref));
    program_.storages.back().on_host = true;
    return *this;
  }
  [[nodiscard]] Program program() const {
    Program program = program_;
    program.target = kHopper;
    program.operators.push_back(op_);
    return program;
  }
  /// "o3" for storage 3, "+bytes", "-n", "!bytes" for memory that stays.
  [[nodiscard]] std::vector<std::string> script(const operators::WorkspaceTable& table = {}) const {
    const Program whole = program();
    std::vector<std::string> words;
    const auto scripts = operators::call_scripts(whole, operators::cuda_traits(kHopper), table);
    for (const operators::ScriptStep& step : scripts.at(0).steps) {
      switch (step.kind) {
        case operators::ScriptStep::Kind::kOutput:
          words.push_back("o" + std::to_string(step.storage));
          break;
        case operators::ScriptStep::Kind::kTemporary:
          words.push_back("+" + std::to_string(step.bytes));
          break;
        case operators::ScriptStep::Kind::kRelease:
          words.push_back("-" + std::to_string(step.temporary));
          break;
        case operators::ScriptStep::Kind::kPersistent:
          words.push_back("!" + std::to_string(step.bytes));
          break;
      }
    }
    return words;
  }
  [[nodiscard]] operators::ScriptSource source(const operators::WorkspaceTable& table = {}) const {
    return operators::call_scripts(program(), operators::cuda_traits(kHopper), table).at(0).source;
  }

 private:
  program::StorageId add_storage(const TensorRef& ref, program::OperatorId at) {
    const auto id = static_cast<program::StorageId>(program_.storages.size());
    program_.storages.push_back({.id = id, .bytes = ref.bytes(), .allocated_at = at});
    return id;
  }
  Program program_;
  program::Operator op_;
};

}  // namespace elixir::operators
