// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/copy.h"
#include "kernels/thread_pool.h"
#include "runtime/device/stream_operations.h"

namespace elixir::runtime {
namespace {

/// Smaller passes run only on the caller, because waking helpers costs more.
constexpr std::size_t kWorthSharingBytes = 1 << 20;

/// AdamW over parameters, identified by the range of their first moments.
struct PassUnderWay {
  std::uint64_t job = 0;  ///< 0: none
  const char* begin = nullptr;
  const char* end = nullptr;
};

class PooledOperations final : public HostOperations {
 public:
  explicit PooledOperations(const HostOperationsOptions& options)
      : pool_(std::max(options.threads, 1),
              options.first_cpu ? kernels::Binding::kOneCpuEach : kernels::Binding::kNone,
              options.first_cpu.value_or(0),
              options.updates == HostUpdates::kOverlap ? kernels::Caller::kGivesJobs
                                                       : kernels::Caller::kIsAThread),
        isa_(kernels::best_isa()),
        ranks_(options.ranks) {}

  void when_ended(std::function<void()> done) override { pool_.when_ended(std::move(done)); }
  void wait_idle() override { pool_.wait_idle(); }

  void copy(void* to, const void* from, std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes);
    kernels::copy_cpu(to, from, size, pool_for(size));
  }
  void poison(void* memory, std::int64_t bytes) override {
    wait_idle();
    std::memset(memory, 0xFF, static_cast<std::size_t>(bytes));
  }
  void adam(const kernels::AdamArrays& arrays,
            const kernels::AdamScalars& scalars,
            const kernels::Clip* clip,
            std::uint32_t* report) override {
    const std::size_t bytes = kernels::moved_bytes(arrays) * arrays.n;
    const bool small = bytes < kWorthSharingBytes && pool_.idle();
    const bool overlaps = pool_.caller() == kernels::Caller::kGivesJobs;
    if (overlaps && !small && !kernels::held_back(clip)) {
      return begin_adam(arrays, kernels::with_factor(scalars, clip), report);
    }
    kernels::ThreadPool& pool = pool_for(bytes);
    kernels::adam_cpu(arrays, scalars, isa_, pool, {.skip = nullptr, .report = report}, clip);
  }
  void sum_squares(const void* gradient,
                   kernels::Element type,
                   std::size_t n,
                   const kernels::BlockSums& sums) override {
    kernels::sum_squares_cpu(gradient, type, n, sums.divisor, sums.sums, isa_, pool_for(4 * n));
  }
  void sum_squares_of_parts(const void* gradients,
                            kernels::Element type,
                            const std::vector<kernels::SummedPart>& parts) override {
    for (const kernels::SummedPart& part : parts) {
      sum_squares(kernels::element_at(gradients, type, part.first_element),
                  type,
                  part.elements,
                  part.squares);
    }
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

  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes) override {
    ranks().all_gather(group, all, own, part_bytes);
  }
  void all_to_all(const plan::RankGrid& grid,
                  void* to,
                  const void* from,
                  std::int64_t part_bytes) override {
    ranks().all_to_all(grid, to, from, part_bytes);
  }
  void reduce_scatter(const plan::RankGrid& grid,
                      void* to,
                      const void* from,
                      std::size_t shard_elements,
                      kernels::Element type) override {
    const int rank = ranks().rank();
    const auto world = static_cast<std::size_t>(grid.world);
    const std::size_t n = shard_elements / static_cast<std::size_t>(grid.replicas);
    const std::size_t bytes = n * kernels::bytes_of(type);
    received_.resize(world * bytes);
    ranks().all_to_all(grid, received_.data(), from, static_cast<std::int64_t>(bytes));
    char* part = static_cast<char*>(to) + static_cast<std::size_t>(grid.replica_of(rank)) * bytes;
    add_up({.to = part,
            .to_type = type,
            .from = received_.data(),
            .type = type,
            .parts = world,
            .n = n,
            .how = kernels::Accumulate::kFirst});
    const plan::RankGroup same_shard = grid.same_shard(rank);
    if (same_shard.count > 1) {
      ranks().all_gather(same_shard, to, part, static_cast<std::int64_t>(bytes));
    }
  }
  void broadcast(int root, void* data, std::int64_t bytes) override {
    ranks().broadcast(root, data, bytes);
  }
  void gather_disjoint(const plan::RankGroup& group,
                       float* to,
                       const float* from,
                       std::size_t count) override {
    const auto parts = static_cast<std::size_t>(group.count);
    gathered_.resize(parts * count);
    ranks().all_gather(
        group, gathered_.data(), from, static_cast<std::int64_t>(count * sizeof(float)));
    // All but one are zeros, so that the order does not matter.
    add_up({.to = to,
            .to_type = kernels::Element::kFloat32,
            .from = gathered_.data(),
            .type = kernels::Element::kFloat32,
            .parts = parts,
            .n = count,
            .how = kernels::Accumulate::kFirst});
  }
  void sum_parts(const SumParts& sum, const std::vector<kernels::SummedPart>& squares) override {
    add_up(sum);
    sum_squares_of_parts(sum.to, sum.to_type, squares);
  }

 private:
  void add_up(const SumParts& sum) {
    kernels::sum_parts_cpu(sum.to,
                           sum.to_type,
                           sum.from,
                           sum.type,
                           sum.parts,
                           sum.n,
                           sum.how,
                           isa_,
                           pool_for(sum.parts * sum.n * kernels::bytes_of(sum.type)));
  }
  [[nodiscard]] Communicator& ranks() const {
    if (ranks_ == nullptr) throw Error(ErrorCode::kInternal, "a collective task, but one rank");
    return *ranks_;
  }
  /// Both pools give the same bits.
  kernels::ThreadPool& pool_for(std::size_t size) {
    wait_idle();
    return size < kWorthSharingBytes ? alone_ : pool_;
  }

  /// A pass over the same moments as one under way waits for it. Nothing else needs that: gradients
  /// are written and parameters moved on other streams, which wait for the end of this pass, and
  /// the next user waits for them.
  void begin_adam(const kernels::AdamArrays& arrays,
                  const kernels::AdamScalars& scalars,
                  std::uint32_t* report) {
    const auto* const begin = static_cast<const char*>(arrays.moment1);
    const char* const end = begin + arrays.n * kernels::bytes_of(arrays.moment_type);
    for (const PassUnderWay& pass : passes_) {
      if (pass.begin < end && begin < pass.end) pool_.wait_for(pass.job);
    }
    const std::uint64_t job = kernels::begin_adam_cpu(arrays, scalars, isa_, pool_, report);
    passes_[job % passes_.size()] = {.job = job, .begin = begin, .end = end};
  }

  kernels::ThreadPool pool_;
  kernels::ThreadPool alone_{1};
  kernels::Isa isa_;
  Communicator* ranks_;
  std::array<PassUnderWay, kernels::ThreadPool::kMostJobs> passes_;  ///< by job, in turn
  std::vector<float> gathered_;
  std::vector<char> received_;
};

}  // namespace

std::unique_ptr<HostOperations> make_host_operations(const HostOperationsOptions& options) {
  return std::make_unique<PooledOperations>(options);
}

}  // namespace elixir::runtime
