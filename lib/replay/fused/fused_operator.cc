// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir::fused for LibTorch's dispatcher, and its kernel for the CPU. Models may not call it: only
// edits put it into programs (edit/fusion/fuse_elementwise.h).
#include <torch/library.h>

#include "replay/fused/fused_job.h"
#include "replay/fused/fused_rows.h"

namespace elixir::replay {
namespace {

std::vector<at::Tensor> fused_on_cpu(at::TensorList inputs,
                                     at::TensorList updated,
                                     at::IntArrayRef shape,
                                     const std::string& program,
                                     at::IntArrayRef stored,
                                     at::IntArrayRef dtypes,
                                     at::IntArrayRef strides) {
  const FusedArguments arguments{inputs, updated, shape, program, stored, dtypes, strides};
  std::vector<at::Tensor> results = fused_results(arguments);
  run_fused_on_cpu(fused_job(arguments, results));
  results.insert(results.end(), updated.begin(), updated.end());
  return results;
}

TORCH_LIBRARY_FRAGMENT(elixir, library) {
  library.def(
      "fused(Tensor[] inputs, Tensor(a!)[] updated, int[] shape, str program, int[] stored, int[] "
      "dtypes, int[] strides) -> Tensor[]");
}

TORCH_LIBRARY_IMPL(elixir, CPU, library) {
  library.impl("fused", &fused_on_cpu);
}

}  // namespace
}  // namespace elixir::replay
