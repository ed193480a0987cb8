// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: AdvancedIndex in ATen/native/TensorAdvancedIndexing.cpp. The kernel reads all indices
// with the same strides.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

using program::Ints;
using program::TensorRef;

/// nullptr when the call has no list of tensors.
const program::Tensors* list_of_tensors(const program::Operator& op) {
  for (const program::Argument& argument : op.arguments) {
    if (const auto* tensors = std::get_if<program::Tensors>(&argument)) return tensors;
  }
  return nullptr;
}

/// The sizes that all of them are expanded to; empty for numbers.
Ints common_sizes(const std::vector<TensorRef>& tensors) {
  Ints sizes;
  for (const TensorRef& tensor : tensors) {
    if (tensor.sizes.size() > sizes.size()) {
      sizes.insert(sizes.begin(), tensor.sizes.size() - sizes.size(), 1);
    }
    const std::size_t first = sizes.size() - tensor.sizes.size();
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      if (tensor.sizes[i] != 1) sizes[first + i] = tensor.sizes[i];
    }
  }
  return sizes;
}

TensorRef expanded(TensorRef tensor, const Ints& sizes) {
  const std::size_t added = sizes.size() - tensor.sizes.size();
  tensor.sizes.insert(tensor.sizes.begin(), added, 1);
  tensor.strides.insert(tensor.strides.begin(), added, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (tensor.sizes[i] != sizes[i]) tensor.strides[i] = 0;
  }
  tensor.sizes = sizes;
  return tensor;
}

/// If the strides of indices differ, indices that are not contiguous are copied. Masks and indices
/// of other dtypes become positions first, which no rule describes.
void index(ScriptBuilder& script) {
  const program::Tensors* given = list_of_tensors(script.op());
  if (given == nullptr) return script.modelled();
  std::vector<TensorRef> indices;
  for (const std::optional<TensorRef>& each : *given) {
    if (!each) continue;
    if (each->dtype != program::DType::kInt64 || script.is_on_host(*each)) script.modelled();
    indices.push_back(*each);
  }
  if (indices.size() < 2) return;
  const Ints sizes = common_sizes(indices);
  for (TensorRef& each : indices) each = expanded(std::move(each), sizes);
  const bool alike = std::all_of(indices.begin(), indices.end(), [&](const TensorRef& each) {
    return each.strides == indices.front().strides;
  });
  if (alike) return;
  for (const TensorRef& each : indices) {
    if (!is_contiguous(each)) script.temporary(each.numel() * program::element_bytes(each.dtype));
  }
}

}  // namespace

const std::vector<ScriptRule> kIndexingScripts = {
    {"aten::index", &index},
    {"aten::_unsafe_index", &index},
};

}  // namespace elixir::operators
