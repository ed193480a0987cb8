// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/kept_buffers.h"

#include <iterator>
#include <utility>
#include <vector>

#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Operator;
using program::OperatorId;
using program::Program;
using program::StorageId;
using program::TensorRef;

constexpr StorageId kNotCopied = -1;

TensorRef all_bytes(const program::Storage& storage) {
  TensorRef bytes;
  bytes.storage = storage.id;
  bytes.sizes = {storage.bytes};
  bytes.strides = {1};
  bytes.dtype = program::DType::kUInt8;
  return bytes;
}

/// Adds a storage for the copy of `of` to the program. Returns the call that fills it.
Operator copy_of(Program& program, StorageId of) {
  program::Storage copy = program.storages[of];
  copy.id = static_cast<StorageId>(program.storages.size());
  copy.category = program::Category::kTemporary;
  Operator clone;
  clone.name = "aten::clone";
  clone.arguments = {all_bytes(program.storages[of]), program::None{}};
  clone.outputs = {all_bytes(copy)};
  program.storages.push_back(std::move(copy));
  return clone;
}

}  // namespace

Program keep_buffers(Program program) {
  std::vector<Operator> copies;
  std::vector<StorageId> copied(program.storages.size(), kNotCopied);
  for (program::Buffer& buffer : program.buffers) {
    const StorageId storage = buffer.tensor.storage;
    if (!std::exchange(buffer.mutated, false) || copied[storage] != kNotCopied) continue;
    copied[storage] = static_cast<StorageId>(program.storages.size());
    copies.push_back(copy_of(program, storage));
  }
  if (copies.empty()) return program;
  const auto use_copy = [&](TensorRef& tensor) {
    if (copied[tensor.storage] != kNotCopied) tensor.storage = copied[tensor.storage];
  };
  for (Operator& op : program.operators) {
    program::for_each_tensor(op.arguments, use_copy);
    program::for_each_tensor(op.outputs, use_copy);
    if (op.repeats >= 0) op.repeats += static_cast<OperatorId>(copies.size());
  }
  use_copy(program.loss);
  program.operators.insert(program.operators.begin(),
                           std::make_move_iterator(copies.begin()),
                           std::make_move_iterator(copies.end()));
  for (std::size_t i = 0; i < program.operators.size(); ++i) {
    program.operators[i].id = static_cast<OperatorId>(i);
  }
  return program::with_replay_lifetimes(std::move(program));
}

}  // namespace elixir::edit
