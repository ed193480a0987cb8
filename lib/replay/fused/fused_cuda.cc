// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir::fused on the GPU. A kernel is compiled at the first call of its form and device, and kept
// until the process ends.
#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <torch/library.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "replay/cuda_status.h"
#include "replay/fused/fused_job.h"
#include "replay/fused/fused_source.h"
#include "replay/fused/nvrtc.h"

namespace elixir::replay {
namespace {

int compute_capability(int device) {
  int major = 0, minor = 0;
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "asking for the compute capability");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
             "asking for the compute capability");
  return 10 * major + minor;
}

cudaKernel_t compiled(const FusedJob& job, const FusedForm& form, int device) {
  const std::vector<char> code =
      compile_cuda(fused_source(job, form), compute_capability(device), fused_compile_options());
  cudaLibrary_t library = nullptr;  // stays loaded
  check_cuda(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
             "loading the kernel of a fused operator");
  cudaKernel_t kernel = nullptr;
  check_cuda(cudaLibraryGetKernel(&kernel, library, kFusedKernelName),
             "finding the kernel of a fused operator");
  return kernel;
}

cudaKernel_t kernel_of(const FusedJob& job, const FusedForm& form, int device) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, cudaKernel_t> kernels;
  const std::lock_guard<std::mutex> lock(mutex);
  cudaKernel_t& kernel = kernels[{form.key, device}];
  if (kernel == nullptr) kernel = compiled(job, form, device);
  return kernel;
}

std::vector<at::Tensor> fused_on_cuda(at::TensorList inputs,
                                      at::TensorList updated,
                                      at::IntArrayRef shape,
                                      const std::string& program,
                                      at::IntArrayRef stored,
                                      at::IntArrayRef dtypes,
                                      at::IntArrayRef strides) {
  const FusedArguments arguments{inputs, updated, shape, program, stored, dtypes, strides};
  std::vector<at::Tensor> results = fused_results(arguments);
  const FusedJob job = fused_job(arguments, results);
  const c10::cuda::CUDAGuard guard(inputs.front().device());
  const FusedForm form = fused_form(job);
  cudaKernel_t kernel = kernel_of(job, form, inputs.front().device().index());
  FusedLaunch launch = fused_launch(job, form);
  TORCH_CHECK_VALUE(launch.blocks <= (std::int64_t{1} << 31) - 1,
                    "a fused operator has too many rows");
  void* argument = launch.argument.data();
  check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                              dim3(static_cast<unsigned>(launch.blocks)),
                              dim3(static_cast<unsigned>(launch.threads_per_block)),
                              &argument,
                              0,
                              at::cuda::getCurrentCUDAStream()),
             "launching a fused operator");
  results.insert(results.end(), updated.begin(), updated.end());
  return results;
}

TORCH_LIBRARY_IMPL(elixir, CUDA, library) {
  library.impl("fused", &fused_on_cuda);
}

}  // namespace
}  // namespace elixir::replay
