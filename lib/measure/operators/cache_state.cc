// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/operators/cache_state.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace elixir::measure {
namespace {

constexpr std::int64_t kWordBytes = 8;

/// A storage as 8-byte words, without an incomplete last word.
at::Tensor words_of(const c10::Storage& storage) {
  program::TensorRef whole;
  whole.dtype = program::DType::kInt64;
  whole.sizes = {static_cast<std::int64_t>(storage.nbytes()) / kWordBytes};
  whole.strides = {1};
  return replay::make_shell(storage, whole);
}

void use(const c10::Storage& storage, bool write) {
  at::Tensor words = words_of(storage);
  if (!words.is_cuda() || words.numel() == 0) return;
  if (write) {
    words.bitwise_or_(0);
  } else {
    (void)words.sum();
  }
}

}  // namespace

CacheState::CacheState(std::vector<program::Reuse> uses, std::int64_t cache_bytes)
    : uses_(std::move(uses)),
      limit_bytes_(limit_bytes(cache_bytes)),
      from_(at::zeros({cache_bytes}, at::TensorOptions().device(at::kCUDA).dtype(at::kByte))),
      to_(at::zeros_like(from_)) {}

void CacheState::prepare(const replay::StorageTable& storages) {
  position_ = 0;
  std::int64_t left = limit_bytes_;
  for (const program::Reuse& reuse : uses_) {
    pass(left - reuse.bytes_since);
    left = std::min(left, reuse.bytes_since);
    use(storages.at(reuse.storage), reuse.written);
  }
  pass(left);
}

/// Reads half of the bytes and writes half, about as in a training step.
void CacheState::pass(std::int64_t bytes) {
  const std::int64_t each = std::min(bytes / 2, from_.numel() - position_);
  if (each <= 0) return;
  to_.narrow(0, position_, each).copy_(from_.narrow(0, position_, each));
  position_ += each;
}

}  // namespace elixir::measure
