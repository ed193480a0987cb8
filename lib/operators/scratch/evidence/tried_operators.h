// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Operators that random calls on a GPU never saw asking for scratch memory
// (tests/gpu/scratch/scratch_test.cc). Derived from the evidence of that test by
// tests/gpu/scratch/list_tried.py, which says what an operator must show and which operators no
// number of calls can prove.

#include <cstdint>
#include <string_view>
#include <vector>

namespace elixir::operators {

struct TriedOperator {
  std::string_view name;       ///< with overload: "aten::where.self"
  int calls;                   ///< none of which asked
  std::int64_t most_elements;  ///< of the largest tensor that was tried
  std::string_view dtypes;     ///< of their first tensors, sorted: "bfloat16 float32"
};

/// Sorted by name.
extern const std::vector<TriedOperator> kTriedOperators;
/// Date, libraries and GPU; "" without evidence.
extern const std::string_view kTriedOn;

}  // namespace elixir::operators
