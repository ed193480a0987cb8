// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/from_model.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>

#include "capture/record/arguments/scalar_type.h"

namespace elixir::capture {
namespace {

/// A view of `memory`, which holds a storage's bytes.
at::Tensor view_of(const at::Tensor& memory, const model::Geometry& geometry) {
  at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(scalar_type(geometry.dtype)));
  tensor.set_(memory.storage(), geometry.offset, geometry.sizes, geometry.strides);
  return tensor;
}

at::Tensor bytes_of(std::int64_t count) {
  return at::empty({count}, at::TensorOptions().dtype(at::kByte));
}

}  // namespace

Captured with_tensors(model::Captured captured) {
  Captured made;
  made.program = std::move(captured.program);
  made.unattributed_operators = captured.unattributed_operators;
  made.warnings = std::move(captured.warnings);
  for (const auto& [id, constant] : captured.constants) {
    const at::Tensor memory = bytes_of(std::ssize(constant.bytes));
    std::memcpy(memory.mutable_data_ptr(), constant.bytes.data(), constant.bytes.size());
    made.constants.emplace(id, view_of(memory, constant.geometry));
  }
  return made;
}

at::Tensor read_state(const model::ModelFile& model, const std::string& name) {
  const model::StateEntry& entry = model.state(name);
  if (model::ModelFile::has_data(entry) && !entry.record) {
    return view_of(bytes_of(0), entry.geometry);  // no elements
  }
  const at::Tensor memory = bytes_of(entry.storage_bytes);
  model.read(entry, memory.mutable_data_ptr());
  return view_of(memory, entry.geometry);
}

}  // namespace elixir::capture
