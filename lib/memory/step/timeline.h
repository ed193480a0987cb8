// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Device memory of one eager training step, by operator and category. Storages live from
// Storage::allocated_at to Storage::freed_after (the lifetimes of eager autograd).
//
// make_timeline() uses only the program: tensors rounded up to 512 bytes, as LibTorch's caching
// allocator counts allocated bytes. training_step.h also counts the allocator's blocks and scratch
// memory.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/step/optimizer_state.h"
#include "program/document.h"
#include "program/program.h"

namespace elixir::memory {

/// Bytes, by program::Category.
using ByCategory = std::array<std::int64_t, program::kCategoryCount>;
[[nodiscard]] constexpr std::size_t index_of(program::Category category) {
  return static_cast<std::size_t>(category);
}

struct LiveStorage {
  program::StorageId storage = -1;
  std::int64_t bytes = 0;  ///< of its block, rounded
};

/// Scratch memory of a kernel or a library. It is not a tensor of the program.
struct LiveScratch {
  program::OperatorId made_at = -1;  ///< the call that requested it; -1: the optimizer's update
  bool kept = false;                 ///< it stays, like a library's workspace
  std::int64_t bytes = 0;
};

struct LiveOptimizerTensor {
  std::int32_t parameter = -1;
  OptimizerPart part = OptimizerPart::kMaster;
  program::DType dtype = program::DType::kFloat32;
  std::int64_t bytes = 0;  ///< of its block, rounded
};

struct Timeline {
  /// By operator id: the most bytes alive while the operator runs, its outputs included.
  std::vector<std::int64_t> allocated_bytes;
  std::vector<ByCategory> by_category_bytes;  ///< the same bytes by category; by operator id
  std::vector<std::int64_t> scratch_bytes;    ///< the part of them in no category; by operator id
  std::int64_t peak_bytes = 0;
  /// The first that reaches the peak. -1: no operator does, but the optimizer's update, or there is
  /// none.
  program::OperatorId peak_operator = -1;
  ByCategory peak_by_category_bytes{};
  std::int64_t peak_scratch_bytes = 0;
  std::vector<LiveStorage> live_at_peak;                     ///< largest first, ties by id
  std::vector<LiveOptimizerTensor> optimizer_state_at_peak;  ///< by parameter
  std::vector<LiveScratch> scratch_at_peak;                  ///< in order of request
  std::int64_t activations_peak_bytes = 0;  ///< peak of activations alone, at any operator
};

/// Tensors only, without scratch memory. Optimizer state (`optimizer_bytes`) exists for the whole
/// step, as from the second step on; `optimizer_state_at_peak` stays empty.
[[nodiscard]] Timeline make_timeline(const program::Program& program, std::int64_t optimizer_bytes);

/// Bytes of the optimizer's tensors (`optimizer_state.h`), each rounded up.
[[nodiscard]] std::int64_t optimizer_state_bytes(const program::Program& program,
                                                 program::OptimizerUse use);

[[nodiscard]] program::MemorySummary summarise(const program::Program& program,
                                               program::OptimizerUse use);

}  // namespace elixir::memory
