// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Matrix products of cuBLAS. Its workspaces are the process's (call_script.cc). Source:
// ATen/native/cuda/cuBlasCommonArgs.h, prepare_matrix_for_cublas; Blas.cpp,
// prepare_batch_matrix_for_cublas.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "operators/scratch/rules.h"

namespace elixir::operators {
namespace {

/// Whether cuBLAS can read the matrices where they are: one of the last two dimensions is dense,
/// and its lines do not overlap.
bool cublas_reads(const program::TensorRef& matrices) {
  const std::size_t rank = matrices.sizes.size();
  const std::int64_t rows = matrices.sizes.at(rank - 2);
  const std::int64_t columns = matrices.sizes.at(rank - 1);
  const std::int64_t row = matrices.strides.at(rank - 2);
  const std::int64_t column = matrices.strides.at(rank - 1);
  const auto lines = [](std::int64_t dense, std::int64_t line, std::int64_t length) {
    return dense == 1 && line >= std::max<std::int64_t>(1, length);
  };
  if (lines(column, row, columns) || lines(row, column, rows)) return true;
  return is_contiguous(matrices) && row != 0 && column != 0;
}

/// Matrices that cuBLAS cannot read are copied, and stay until the call ends.
void product(ScriptBuilder& script, const char* left, const char* right) {
  script.outputs();
  for (const char* name : {left, right}) {
    const auto* matrices = script.tensor(name);
    if (matrices == nullptr || matrices->sizes.size() < 2) {
      script.modelled();
      continue;
    }
    if (cublas_reads(*matrices)) continue;
    script.modelled();  // never recorded
    script.temporary(matrices->bytes());
  }
  // With another dtype for the result, or of complex numbers, which may be conjugated views: never
  // recorded.
  const auto* first = script.tensor(left);
  const bool complex = first != nullptr && (first->dtype == program::DType::kComplex64 ||
                                            first->dtype == program::DType::kComplex128);
  if (script.op().overload == "dtype" || complex) script.modelled();
}

void mm(ScriptBuilder& script) {
  product(script, "self", "mat2");
}
void addmm(ScriptBuilder& script) {
  product(script, "mat1", "mat2");
}
void baddbmm(ScriptBuilder& script) {
  product(script, "batch1", "batch2");
}

}  // namespace

const std::vector<ScriptRule> kProductScripts = {
    {"aten::addmm", &addmm},
    {"aten::baddbmm", &baddbmm},
    {"aten::bmm", &mm},
    {"aten::mm", &mm},
};

}  // namespace elixir::operators
