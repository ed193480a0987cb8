// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "adam_arrays.h"
#include "adam_cases.h"
#include "adam_eight_bytes.h"
#include "kernels/cuda_kernels.h"

namespace elixir::benchmarks {
namespace {

using kernels::AdamArrays;

/// Cleared before the clock starts, so that launching has ended when the GPU reaches the work.
constexpr std::int64_t kLeadBytes = std::int64_t{512} << 20;

void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

class CudaSuite final : public Suite {
 public:
  explicit CudaSuite(std::size_t parameters)
      : arrays_(parameters, gpu()),
        lead_(at::empty({kLeadBytes}, at::TensorOptions().device(gpu()).dtype(at::kByte))),
        device_clip_(at::empty({static_cast<std::int64_t>(sizeof(kernels::Clip))},
                               at::TensorOptions().device(gpu()).dtype(at::kByte))),
        n_(parameters) {
    check_cuda(cudaEventCreate(&begin_));
    check_cuda(cudaEventCreate(&end_));
    const kernels::Clip clip{.norm = 2.0F, .factor = 0.5F, .held_back = 0};
    check_cuda(cudaMemcpy(device_clip_.data_ptr(), &clip, sizeof clip, cudaMemcpyHostToDevice));
  }
  CudaSuite(const CudaSuite&) = delete;
  CudaSuite& operator=(const CudaSuite&) = delete;
  ~CudaSuite() override {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }

  [[nodiscard]] std::string description() const override {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, 0));
    return std::string("CUDA, ") + properties.name;
  }

  [[nodiscard]] std::vector<Case> cases() override {
    std::vector<Case> all;
    all.push_back({"copy", 8.0, [this] {
                     return seconds_of([this] {
                       check_cuda(cudaMemcpyAsync(arrays_.gradient32.data_ptr(),
                                                  arrays_.master.data_ptr(),
                                                  n_ * 4,
                                                  cudaMemcpyDeviceToDevice,
                                                  stream()));
                     });
                   }});
    const auto add = [&](const std::string& name, const AdamArrays& arrays) {
      const auto bytes = static_cast<double>(moved_bytes(arrays));
      all.push_back({name, bytes, [this, arrays] {
                       return seconds_of([&] { kernels::adam_cuda(arrays, scalars(), stream()); });
                     }});
      all.push_back({name + ", streams", bytes, [this, arrays] {
                       return seconds_of([&] { kernels::adam_streams_cuda(arrays, stream()); });
                     }});
    };
    add("separate", arrays_.separate());
    add("split", arrays_.split());
    add("separate, bf16 moments", arrays_.narrow());
    add("split, bf16 moments", arrays_.narrow_split());
    add("fp32", arrays_.plain());
    for (const auto& [name, arrays] : {std::pair{"separate, 8 bytes a lane", arrays_.separate()},
                                       std::pair{"split, 8 bytes a lane", arrays_.split()}}) {
      const AdamArrays chosen = arrays;  // clang 14 cannot capture a structured binding
      all.push_back({name, static_cast<double>(moved_bytes(arrays)), [this, chosen] {
                       return seconds_of(
                           [&] { adam_cuda_eight_bytes(chosen, scalars(), stream()); });
                     }});
    }
    all.push_back({"separate, clip factor on the device", 28.0, [this] {
                     return seconds_of([this] {
                       kernels::adam_cuda(
                           arrays_.separate(),
                           scalars(),
                           stream(),
                           {},
                           static_cast<const kernels::Clip*>(device_clip_.data_ptr()));
                     });
                   }});
    all.push_back({"separate, unscaled and clipped", 28.0, [this] {
                     return seconds_of([this] {
                       const auto scaled = kernels::make_adam_scalars(kHyper, 10, 3, 0.9F, 1024.0);
                       kernels::adam_cuda(arrays_.separate(), scaled, stream());
                     });
                   }});
    all.push_back({"torch fused, with casts", 28.0, [this] {
                     return seconds_of([this] { arrays_.torch_fused_with_casts(); });
                   }});
    all.push_back({"torch fused, fp32", 28.0, [this] {
                     return seconds_of([this] { arrays_.torch_fused(); });
                   }});
    return all;
  }

  [[nodiscard]] std::vector<Ratio> ratios() const override {
    return {{"AdamW over copy, bytes", "separate", "copy", true},
            {"split over copy, bytes", "split", "copy", true},
            {"AdamW over its streams", "separate", "separate, streams", false},
            {"16 over 8 bytes a lane", "separate", "separate, 8 bytes a lane", false},
            {"AdamW over torch with casts", "separate", "torch fused, with casts", false},
            {"AdamW over torch, fp32 each", "fp32", "torch fused, fp32", false},
            {"split over separate", "split", "separate", false}};
  }

  [[nodiscard]] std::vector<std::string> check() override {
    const at::Device cpu(at::kCPU);
    const AdamTensors host(kCheckedParameters, cpu);
    const auto copied = [&] {
      AdamTensors to(kCheckedParameters, gpu());
      to.master.copy_(host.master);
      to.moment1.copy_(host.moment1);
      to.moment2.copy_(host.moment2);
      to.gradient.copy_(host.gradient);
      return to;
    };
    AdamTensors sixteen = copied(), eight = copied(), torch = copied();
    const auto first = kernels::make_adam_scalars(kHyper, 1, 1, 1.0F);
    kernels::adam_cpu(host.separate(), first, kernels::best_isa());
    kernels::adam_cuda(sixteen.separate(), first, stream());
    adam_cuda_eight_bytes(eight.separate(), first, stream());
    torch.torch_fused_with_casts();
    for (const AdamTensors* other : {&sixteen, &eight}) {
      if (!same_bits(other->master.cpu(), host.master) ||
          !same_bits(other->parameter.cpu(), host.parameter) ||
          !same_bits(other->moment1.cpu(), host.moment1) ||
          !same_bits(other->moment2.cpu(), host.moment2)) {
        throw std::runtime_error("the GPU's AdamW differs from the CPU's");
      }
    }
    const double off = largest_difference(torch.master.cpu(), host.master);
    if (!(off < kTorchTolerance)) {
      throw std::runtime_error("AdamW differs from torch's by " + std::to_string(off));
    }
    return {"GPU and CPU: same bits", "torch's fused AdamW: equal within 2e-6 of each value"};
  }

 private:
  static at::Device gpu() { return {at::kCUDA, 0}; }
  static cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
  [[nodiscard]] static kernels::AdamScalars scalars() {
    return kernels::make_adam_scalars(kHyper, 10, 1, 1.0F);
  }
  [[nodiscard]] double seconds_of(const std::function<void()>& queue) const {
    check_cuda(cudaMemsetAsync(lead_.data_ptr(), 0, kLeadBytes, stream()));
    check_cuda(cudaEventRecord(begin_, stream()));
    queue();
    check_cuda(cudaEventRecord(end_, stream()));
    check_cuda(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

  AdamTensors arrays_;
  at::Tensor lead_, device_clip_;
  std::size_t n_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::unique_ptr<Suite> make_cuda_suite(std::size_t parameters, std::string& reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    reason = status == cudaSuccess ? "no GPU here" : cudaGetErrorString(status);
    return nullptr;
  }
  at::globalContext().lazyInitDevice(at::kCUDA);
  return std::make_unique<CudaSuite>(parameters);
}

std::size_t free_cuda_bytes() {
  std::size_t free_bytes = 0, all_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess) return free_bytes;
  static_cast<void>(cudaGetLastError());
  return 0;
}

}  // namespace elixir::benchmarks
