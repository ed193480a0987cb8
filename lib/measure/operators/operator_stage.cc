// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/operators/operator_stage.h"

#include <immintrin.h>

#include <algorithm>
#include <set>

#include <ATen/ops/empty.h>

#include "core/allocation_unit.h"
#include "program/arguments/arguments.h"
#include "replay/counting_allocator.h"

namespace elixir::measure {
namespace {

using program::DType;
using program::Operator;
using program::Program;
using program::StorageId;
using program::TensorRef;

constexpr std::size_t kCacheLineBytes = 64;

/// Limit for index tensors: values in [0, bound) are valid rows, classes or positions of the call.
std::int64_t index_bound(const Operator& op) {
  const program::Arguments call(op);
  if (op.name == "aten::embedding") {
    const TensorRef* weight = call.tensor("weight");
    if (weight != nullptr && !weight->sizes.empty()) return weight->sizes.front();
  }
  if (op.name == "aten::embedding_dense_backward") {
    if (const auto rows = call.integer("num_weights")) return *rows;
  }
  if (op.name == "aten::nll_loss_forward" || op.name == "aten::nll_loss_backward") {
    const TensorRef* scores = call.tensor("self");
    if (scores != nullptr && !scores->sizes.empty()) return scores->sizes.back();
  }
  // The bound is valid for every dimension, because no dimension of the indexed tensor is shorter.
  // The indexed tensor is a floating one, if there is one; index tensors may be shorter.
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t floating = kMost, any = kMost;
  const auto look = [&](const TensorRef& ref) {
    for (const std::int64_t size : ref.sizes) {
      if (size > 0) any = std::min(any, size);
      if (size > 0 && program::is_floating(ref.dtype)) floating = std::min(floating, size);
    }
  };
  program::for_each_tensor(op.arguments, look);
  program::for_each_tensor(op.outputs, look);
  return floating < kMost ? floating : any;
}

/// Fills with values for ordinary arithmetic: no denormals, no NaN, and positive in case a root or
/// logarithm follows.
void fill(at::Tensor& flat, DType dtype, std::int64_t bound) {
  if (dtype == DType::kBool) {
    flat.bernoulli_(0.9);
  } else if (program::is_floating(dtype)) {
    flat.uniform_(0.1, 1.0);
  } else if (dtype == DType::kComplex64 || dtype == DType::kComplex128) {
    flat.fill_(0.5);
  } else {
    flat.random_(0, std::max<std::int64_t>(1, std::min<std::int64_t>(bound, 127)));
    if (bound > 127 && flat.element_size() > 1)
      flat.random_(0, std::min<std::int64_t>(bound, 32767));
  }
}

/// Where the groups of a product end: on a GPU they are equal, for the time. On a CPU one group has
/// everything, for the memory: LibTorch multiplies group by group, and may copy the rows of one.
void fill_ends(at::Tensor& flat, const Operator& op, bool equal) {
  const program::Arguments call(op);
  const TensorRef* left = call.tensor("self");
  const TensorRef* right = call.tensor("mat2");
  if (left == nullptr || right == nullptr || flat.numel() == 0) return;
  if (left->sizes.size() < 2 || right->sizes.size() < 2) return;  // no product
  const bool rows = left->sizes.size() == 2 && right->sizes.size() > 2;
  const std::int64_t all = rows                     ? left->sizes[0]
                           : left->sizes.size() > 2 ? right->sizes.back()
                                                    : left->sizes.back();
  flat.fill_(equal ? all / flat.numel() : all);
  if (equal) flat.copy_(flat.cumsum(0));
}

}  // namespace

OperatorStage::OperatorStage(const Program& program, const Operator& op, bool cuda)
    : call_(program, op.id), storages_(program.storages.size()) {
  const std::int64_t bound = index_bound(op);
  std::set<StorageId> seen;
  program::for_each_tensor(op.arguments, [&](const TensorRef& ref) {
    if (!seen.insert(ref.storage).second) return;
    const program::Storage& described = program.storages.at(ref.storage);
    // Numbers that became tensors, and host inputs of kernels (random seeds), stay on the host.
    const bool on_cuda = cuda && !described.on_host && !ref.wrapped_number;
    const at::Tensor memory =
        at::empty({std::max<std::int64_t>(described.bytes, 1)},
                  at::TensorOptions().device(on_cuda ? at::kCUDA : at::kCPU).dtype(at::kByte));
    storages_[ref.storage] = memory.storage();
    TensorRef whole;
    whole.storage = ref.storage;
    whole.dtype = ref.dtype;
    whole.sizes = {described.bytes / program::element_bytes(ref.dtype)};
    whole.strides = {1};
    at::Tensor flat = replay::make_shell(memory.storage(), whole);
    if (op.name == "aten::_grouped_mm" && ref.dtype == DType::kInt32) {
      fill_ends(flat, op, cuda);
    } else {
      fill(flat, ref.dtype, bound);
    }
    if (op.writes) pristine_.emplace_back(flat, flat.clone());
    if (described.category == program::Category::kParameter && !on_cuda) {
      parameters_.emplace_back(flat.data_ptr(), static_cast<std::size_t>(flat.nbytes()));
    }
  });
}

std::int64_t OperatorStage::fresh_bytes() const {
  std::int64_t bytes = 0;
  for (const StorageId id : call_.fresh()) {
    bytes += rounded_allocation(static_cast<std::int64_t>(storages_[id].nbytes()));
  }
  return bytes;
}

void OperatorStage::release() {
  for (const StorageId id : call_.fresh()) storages_[id] = c10::Storage();
}

void OperatorStage::restore() {
  for (auto& [flat, copy] : pristine_) flat.copy_(copy);
}

void OperatorStage::cool_parameters() const {
  for (const auto& [data, bytes] : parameters_) {
    for (std::size_t at = 0; at < bytes; at += kCacheLineBytes) {
      _mm_clflush(static_cast<const char*>(data) + at);
    }
  }
  _mm_mfence();
}

}  // namespace elixir::measure
