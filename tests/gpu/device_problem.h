// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The arrays of an AdamProblem in device memory.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "adam_problem.h"

namespace elixir::kernels {

inline void require_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
[[nodiscard]] inline bool have_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Bytes on the device, at a given distance from an aligned address.
class DeviceBytes {
 public:
  DeviceBytes(const std::vector<std::uint8_t>& from, std::size_t distance)
      : bytes_(from.size()), distance_(distance) {
    require_cuda(cudaMalloc(&base_, bytes_ + distance + 1));
    write(from);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { static_cast<void>(cudaFree(base_)); }
  template <class T>
  [[nodiscard]] T* as() const {
    return bytes_ == 0 ? nullptr : reinterpret_cast<T*>(static_cast<char*>(base_) + distance_);
  }
  void write(const std::vector<std::uint8_t>& from) {
    if (bytes_ > 0) {
      require_cuda(cudaMemcpy(as<void>(), from.data(), bytes_, cudaMemcpyHostToDevice));
    }
  }
  void read(std::vector<std::uint8_t>& to) const {
    if (bytes_ > 0) {
      require_cuda(cudaMemcpy(to.data(), as<void>(), bytes_, cudaMemcpyDeviceToHost));
    }
  }

 private:
  void* base_ = nullptr;
  std::size_t bytes_, distance_;
};

class DeviceProblem {
 public:
  /// Every array starts `shift` elements after an aligned address.
  explicit DeviceProblem(AdamProblem& host, std::size_t shift = 0)
      : form_(host.form()),
        n_(host.size()),
        master_(host.storage().master, shift * 4),
        moment1_(host.storage().moment1, shift * bytes_of(form_.moment)),
        moment2_(host.storage().moment2, shift * bytes_of(form_.moment)),
        gradient_(host.storage().gradient, shift * bytes_of(form_.gradient)),
        parameter_(host.storage().parameter,
                   shift * bytes_of(form_.parameter.value_or(Element::kFloat32))),
        lower_(host.storage().lower, shift * 2) {}

  [[nodiscard]] AdamArrays arrays() const {
    return {master_.as<float>(),
            moment1_.as<void>(),
            moment2_.as<void>(),
            gradient_.as<void>(),
            form_.gradient,
            parameter_.as<void>(),
            form_.parameter.value_or(Element::kFloat32),
            n_,
            form_.moment,
            lower_.as<std::int16_t>()};
  }
  void write_gradients(AdamProblem& host) { gradient_.write(host.storage().gradient); }
  /// Copies all arrays back, after waiting for the device.
  void read(AdamProblem& host) const {
    require_cuda(cudaDeviceSynchronize());
    AdamProblem::Storage& to = host.storage();
    master_.read(to.master);
    moment1_.read(to.moment1);
    moment2_.read(to.moment2);
    gradient_.read(to.gradient);
    parameter_.read(to.parameter);
    lower_.read(to.lower);
  }

 private:
  AdamForm form_;
  std::size_t n_;
  DeviceBytes master_, moment1_, moment2_, gradient_, parameter_, lower_;
};

}  // namespace elixir::kernels
