// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/adam_cuda_kernel.cuh"
#include "kernels/cuda_kernels.h"

namespace elixir::kernels {
namespace {

constexpr cuda::Access kAccess = cuda::Access::kSixteenBytes;

template <Element kGradient, Element kMoment>
void launch_formed(const cuda::AdamLaunch& launch, CudaStream stream) {
  if (launch.arrays.lower != nullptr) {
    cuda::launch_adam<kGradient, Form::kSplit, kMoment, kAccess>(launch, stream);
    return;
  }
  if (launch.arrays.parameter == nullptr) {
    cuda::launch_adam<kGradient, Form::kMasterOnly, kMoment, kAccess>(launch, stream);
    return;
  }
  switch (launch.arrays.parameter_type) {
    case Element::kFloat32:
      cuda::launch_adam<kGradient, Form::kFloat32, kMoment, kAccess>(launch, stream);
      return;
    case Element::kBFloat16:
      cuda::launch_adam<kGradient, Form::kBFloat16, kMoment, kAccess>(launch, stream);
      return;
    case Element::kFloat16:
      cuda::launch_adam<kGradient, Form::kFloat16, kMoment, kAccess>(launch, stream);
      return;
  }
}

template <Element kGradient>
void launch_typed(const cuda::AdamLaunch& launch, CudaStream stream) {
  if (launch.arrays.moment_type == Element::kBFloat16) {
    launch_formed<kGradient, Element::kBFloat16>(launch, stream);
  } else {
    launch_formed<kGradient, Element::kFloat32>(launch, stream);
  }
}

void launch_any(const cuda::AdamLaunch& launch, CudaStream stream) {
  if (launch.arrays.n == 0) return;
  switch (launch.arrays.gradient_type) {
    case Element::kFloat32:
      launch_typed<Element::kFloat32>(launch, stream);
      return;
    case Element::kBFloat16:
      launch_typed<Element::kBFloat16>(launch, stream);
      return;
    case Element::kFloat16:
      launch_typed<Element::kFloat16>(launch, stream);
      return;
  }
}

}  // namespace

void adam_cuda(const AdamArrays& arrays,
               const AdamScalars& scalars,
               CudaStream stream,
               const FoundInfinity& found,
               const Clip* clip) {
  launch_any({arrays, scalars, clip, found, cuda::aligned_to_16(arrays)}, stream);
}

}  // namespace elixir::kernels
