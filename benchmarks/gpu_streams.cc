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

BackgroundCopies::BackgroundCopies() {
  check(cudaGetDevice(&gpu_));
  for (Direction* direction : {&up_, &down_}) {
    check(cudaHostAlloc(&direction->host, kDirectionBytes, cudaHostAllocDefault));
    check(cudaMalloc(&direction->device, kDirectionBytes));
    direction->stream = make_stream();
  }
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
  for (const Direction* direction : {&up_, &down_}) {
    static_cast<void>(cudaFreeHost(direction->host));
    static_cast<void>(cudaFree(direction->device));
    static_cast<void>(cudaStreamDestroy(direction->stream));
  }
}

void BackgroundCopies::copy() const {
  check(cudaMemcpyAsync(up_.device, up_.host, kDirectionBytes, cudaMemcpyHostToDevice, up_.stream));
  check(cudaMemcpyAsync(
      down_.host, down_.device, kDirectionBytes, cudaMemcpyDeviceToHost, down_.stream));
  check(cudaStreamSynchronize(up_.stream));
  check(cudaStreamSynchronize(down_.stream));
}

}  // namespace elixir::benchmarks
