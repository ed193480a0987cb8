// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory for direct transfers.

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "measure/disk/direct_file.h"

namespace elixir::measure {

class AlignedBlock {
 public:
  explicit AlignedBlock(std::int64_t bytes)
      : data_(std::aligned_alloc(static_cast<std::size_t>(kDirectAlignmentBytes),
                                 static_cast<std::size_t>(bytes))) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~AlignedBlock() { std::free(data_); }
  AlignedBlock(AlignedBlock&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  AlignedBlock& operator=(AlignedBlock&&) = delete;
  AlignedBlock(const AlignedBlock&) = delete;
  AlignedBlock& operator=(const AlignedBlock&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
};

}  // namespace elixir::measure
