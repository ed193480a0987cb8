// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that aligns matrix products. Tensor cores work on rows that begin at multiples of 16
// bytes. A dimension that is no multiple of 8 elements of 16 bits, such as a vocabulary of 50,257,
// makes cuBLAS use kernels that are several times slower. An aligned product pads the rows of a
// result with that dimension. A product over that dimension is split into its multiple of 8 and the
// rest (replay/aligned_product.cc). Results differ in the last bits, so this is the arithmetic
// `fused`.

#include <optional>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

/// The products that are worth it, by target and shapes alone, ascending: aten::mm, aten::addmm and
/// aten::bmm of 16-bit matrices on a GPU, with a dimension of at least 1,024 that is no multiple of
/// 8.
[[nodiscard]] std::vector<program::OperatorId> unaligned_products(const program::Program& program);

/// The first of `products` that align_products() does not take; nullopt: it takes them all.
[[nodiscard]] std::optional<program::OperatorId> not_a_product(
    const program::Program& program, const std::vector<program::OperatorId>& products);

/// `program` with these products aligned; ids stay. The rows of a result are padded where only
/// these products, fused losses and sums use it; otherwise it stays packed. Throws kInternal for
/// what is no product.
[[nodiscard]] program::Program align_products(program::Program program,
                                              const std::vector<program::OperatorId>& products);

}  // namespace elixir::edit
