// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "benchmarks/gpu_streams.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kDirectionBytes = std::size_t{32} << 20;

}  // namespace

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

CopyPlace::CopyPlace(std::size_t bytes) : bytes_(bytes) {
  check(cudaHostAlloc(&host_, bytes, cudaHostAllocDefault));
  check(cudaMalloc(&device_, bytes));
  stream_ = make_stream();
}

CopyPlace::~CopyPlace() {
  static_cast<void>(cudaFreeHost(host_));
  static_cast<void>(cudaFree(device_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void CopyPlace::copy(cudaMemcpyKind direction) const {
  const bool up = direction == cudaMemcpyHostToDevice;
  check(cudaMemcpyAsync(up ? device_ : host_, up ? host_ : device_, bytes_, direction, stream_));
}

BackgroundCopies::BackgroundCopies() : up_(kDirectionBytes), down_(kDirectionBytes) {
  check(cudaGetDevice(&gpu_));
  thread_ = std::thread([this] {
    try {
      check(cudaSetDevice(gpu_));
      while (!stopping_.load()) copy();
    } catch (const std::exception& error) {
      // Figures would be of something else.
      fmt::print(stderr, "copies beside what is measured: {}\n", error.what());
      std::_Exit(4);
    }
  });
}

BackgroundCopies::~BackgroundCopies() {
  stopping_.store(true);
  thread_.join();
}

void BackgroundCopies::copy() const {
  up_.copy(cudaMemcpyHostToDevice);
  down_.copy(cudaMemcpyDeviceToHost);
  check(cudaStreamSynchronize(up_.stream()));
  check(cudaStreamSynchronize(down_.stream()));
}

}  // namespace elixir::benchmarks
