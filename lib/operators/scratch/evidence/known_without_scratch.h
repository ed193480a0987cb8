// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Calls without a rule that are known to ask the CUDA allocator for nothing beside their results.
// Either LibTorch's source leaves no room for it, or calls of the same form were recorded and asked
// for nothing, or random calls of the operator never did. A call of no such kind is not known:
// nobody has looked at it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/scratch/evidence/tried_operators.h"
#include "program/program.h"

namespace elixir::operators {

enum class WithoutScratch : std::uint8_t { kNotKnown, kBySource, kByEvidence };

/// What is known of a call that allocates the storages in `program` with allocated_at == op.id.
[[nodiscard]] WithoutScratch known_without_scratch(const program::Operator& op,
                                                   const program::Program& program);

/// Same for LibTorch's source alone.
[[nodiscard]] bool without_scratch_by_source(const program::Operator& op,
                                             const program::Program& program);

/// Whether the call has tensors, and all are on the host: it does not know of the GPU.
[[nodiscard]] bool is_on_host_alone(const program::Operator& op, const program::Program& program);

/// Whether calls of this form (call_form.h) were recorded, and asked for what was predicted. None
/// had a tensor beyond 32-bit offsets.
[[nodiscard]] bool is_recorded_form(std::string_view form);

/// Whether `tried` is evidence for the call: it names the operator and the dtype of its first
/// tensor; the other tensors are of that dtype, indices of int64, or masks; no tensor is an array
/// on the host, or larger than what was tried.
[[nodiscard]] bool was_tried(const program::Operator& op,
                             const program::Program& program,
                             const std::vector<TriedOperator>& tried);

/// The forms of recorded calls, sorted. Derived from recorded runs by
/// tests/memory/recorded/recorded_forms_test.cc, which also writes the file.
extern const std::vector<std::string_view> kRecordedForms;

/// Names with overloads, sorted, for the documentation and for tests.
[[nodiscard]] std::vector<std::string_view> names_without_scratch_by_source();

/// LibTorch's elementwise operators whose kernels get one TensorIterator and nothing else, sorted.
extern const std::vector<std::string_view> kElementwise;

}  // namespace elixir::operators
