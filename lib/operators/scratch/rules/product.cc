// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Matrix products. cuBLAS's workspaces are the process's (call_script.cc). Source:
// ATen/native/cuda/cuBlasCommonArgs.h, prepare_matrix_for_cublas; Blas.cpp,
// prepare_batch_matrix_for_cublas.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/units.h"
#include "operators/scratch/rules/rules.h"

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
  const bool complex = first != nullptr && program::is_complex(first->dtype);
  if (script.op().overload == "dtype" || complex) script.modelled();
}

/// Experts' products. In bf16, CUTLASS: pointers, strides and sizes of every group (of 8, 8 and 4
/// bytes, three each; an even number of pointers), and four descriptions of a tensor for every
/// multiprocessor. In other dtypes, cuBLAS, group by group. Source: ATen/native/cuda/GroupMM.cu;
/// descriptions as recorded.
void grouped_mm(ScriptBuilder& script) {
  constexpr std::int64_t kPointerBytes = 8, kStrideBytes = 8, kSizeBytes = 4, kEach = 3;
  constexpr std::int64_t kTensorMapBytes = 128, kTensorMaps = 4;
  const auto* left = script.tensor("self");
  const auto* right = script.tensor("mat2");
  const auto* ends = script.tensor("offs");
  script.outputs();
  if (left == nullptr || right == nullptr) return script.modelled();
  if (left->dtype != program::DType::kBFloat16) return;
  const std::size_t rank = 3;
  if (left->sizes.size() != rank && right->sizes.size() != rank && ends == nullptr) {
    return script.modelled();
  }
  const std::int64_t groups = left->sizes.size() == rank    ? left->sizes[0]
                              : right->sizes.size() == rank ? right->sizes[0]
                                                            : ends->sizes.at(0);
  script.temporary(kEach *
                   (round_up(groups, 2) * kPointerBytes + groups * (kStrideBytes + kSizeBytes)));
  script.temporary(script.traits().assumed_multiprocessors() * kTensorMaps * kTensorMapBytes);
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
    {"aten::_grouped_mm", &grouped_mm},
    {"aten::addmm", &addmm},
    {"aten::baddbmm", &baddbmm},
    {"aten::bmm", &mm},
    {"aten::mm", &mm},
};

}  // namespace elixir::operators
