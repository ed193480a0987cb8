// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How cuDNN lays out the workspace and the reserve space of recurrent layers. Only `CudnnRnn` uses
// it.

#include <cstdint>

#include "core/units.h"
#include "program/program.h"

namespace elixir::operators {

/// Adds up buffers, each of which takes a multiple of 32 bytes. So a buffer of twice the elements
/// is not the same as two buffers.
class CudnnRnnBuffers {
 public:
  explicit CudnnRnnBuffers(program::DType dtype) : element_bytes_(program::element_bytes(dtype)) {}

  void add(std::int64_t elements, std::int64_t buffers = 1) {
    add_bytes(elements * element_bytes_, buffers);
  }
  void add_bytes(std::int64_t bytes, std::int64_t buffers = 1) {
    constexpr std::int64_t kMultiple = 32;
    bytes_ += buffers * round_up(bytes, kMultiple);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t element_bytes_;
  std::int64_t bytes_ = 0;
};

}  // namespace elixir::operators
