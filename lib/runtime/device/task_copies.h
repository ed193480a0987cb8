// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a task copies, in itself, so that its body needs no memory from the heap.

#include <array>
#include <cstddef>
#include <cstdint>

namespace elixir::runtime {

struct TaskCopy {
  void* to;
  const void* from;
  std::int64_t bytes;
};

/// The copies of a piece's arrays: master, two moments, gradients, parameters.
struct TaskCopies {
  void add(const TaskCopy& copy) { all.at(count++) = copy; }
  std::array<TaskCopy, 5> all{};
  std::size_t count = 0;
};

/// Memory that holds nothing any more when a task has ended; no bytes: there is none.
struct SpentMemory {
  void* memory = nullptr;
  std::int64_t bytes = 0;
};

}  // namespace elixir::runtime
