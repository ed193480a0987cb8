// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "benchmarks/adam_eight_bytes.h"
#include "kernels/adam_cuda_kernel.cuh"

namespace elixir::benchmarks {

void adam_cuda_eight_bytes(const kernels::AdamArrays& arrays,
                           const kernels::AdamScalars& scalars,
                           kernels::CudaStream stream) {
  using kernels::Element;
  using kernels::Form;
  constexpr auto kAccess = kernels::cuda::Access::kEightBytes;
  const kernels::cuda::AdamLaunch launch = {
      arrays, scalars, nullptr, {}, kernels::cuda::aligned_to_16(arrays)};
  if (arrays.lower != nullptr) {
    kernels::cuda::launch_adam<Element::kBFloat16, Form::kSplit, Element::kFloat32, kAccess>(
        launch, stream);
  } else {
    kernels::cuda::launch_adam<Element::kBFloat16, Form::kBFloat16, Element::kFloat32, kAccess>(
        launch, stream);
  }
}

}  // namespace elixir::benchmarks
