// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <algorithm>
#include <cstring>

#include "kernels/copy.h"
#include "kernels/thread_pool.h"
#include "runtime/device/stream_operations.h"

namespace elixir::runtime {
namespace {

/// Smaller passes run only on the caller, because waking helpers costs more.
constexpr std::size_t kWorthSharingBytes = 1 << 20;

class HostOperations final : public StreamOperations {
 public:
  explicit HostOperations(int threads) : pool_(std::max(threads, 1)), isa_(kernels::best_isa()) {}

  void copy(void* to, const void* from, std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes);
    kernels::copy_cpu(to, from, size, pool_for(size));
  }
  void poison(void* memory, std::int64_t bytes) override {
    std::memset(memory, 0xFF, static_cast<std::size_t>(bytes));
  }
  void adam(const kernels::AdamArrays& arrays,
            const kernels::AdamScalars& scalars,
            const kernels::Clip* clip,
            std::uint32_t* report) override {
    kernels::ThreadPool& pool = pool_for(kernels::moved_bytes(arrays) * arrays.n);
    kernels::adam_cpu(arrays, scalars, isa_, pool, {.skip = nullptr, .report = report}, clip);
  }
  void sum_squares(const void* gradient,
                   kernels::Element type,
                   std::size_t n,
                   const kernels::BlockSums& sums) override {
    kernels::sum_squares_cpu(gradient, type, n, sums.divisor, sums.sums, isa_, pool_for(4 * n));
  }
  void copy_and_sum_squares(void* to,
                            const void* from,
                            kernels::Element type,
                            std::size_t n,
                            const kernels::BlockSums& sums) override {
    kernels::copy_and_sum_squares_cpu(to, from, type, n, sums, isa_, pool_for(4 * n));
  }
  void accumulate(float* sum,
                  const void* gradient,
                  kernels::Element type,
                  std::size_t n,
                  kernels::Accumulate how,
                  const kernels::BlockSums& sums) override {
    kernels::accumulate_cpu(sum, gradient, type, n, how, isa_, pool_for(4 * n), sums);
  }
  void clip(float* sums, std::size_t count, double max_norm, kernels::Clip* clip) override {
    *clip = kernels::clip_cpu({sums, count}, max_norm);
  }

 private:
  /// Both pools give the same bits.
  kernels::ThreadPool& pool_for(std::size_t size) {
    return size < kWorthSharingBytes ? alone_ : pool_;
  }

  kernels::ThreadPool pool_;
  kernels::ThreadPool alone_{1};
  kernels::Isa isa_;
};

}  // namespace

std::unique_ptr<StreamOperations> make_host_operations(int threads) {
  return std::make_unique<HostOperations>(threads);
}

}  // namespace elixir::runtime
