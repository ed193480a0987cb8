// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Several ranks on GPUs: every placement gives the same bits, and those of one process with as many
// micro-batches. With fewer GPUs than ranks, the ranks share them (kShareGpusVariable). Skipped
// without a GPU.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/rank_training.h"
#include "runtime/ranks/device_communicator.h"
#include "runtime/ranks/peer_copies.h"

namespace elixir::runtime {
namespace {

/// Compute capability times ten, and how many GPUs there are. Asked for in another process, because
/// CUDA does not survive a fork.
struct Gpus {
  int sm = 0, count = 0;
};
Gpus gpus() {
  static const Gpus found = [] {
    const std::string text =
        on_ranks(1, [](const Ranks&) -> std::string {
          int count = 0;
          cudaDeviceProp properties{};
          if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0 ||
              cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
            return "0 0";
          }
          return fmt::format("{} {}", properties.major * 10 + properties.minor, count);
        }).front();
    const std::size_t space = text.find(' ');
    return Gpus{std::stoi(text), std::stoi(text.substr(space))};
  }();
  return found;
}

class RanksOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().count == 0) GTEST_SKIP() << "no GPU";
  }
  /// Each rank takes a GPU of its own, if there are enough.
  static std::string bits_of_ranks(RankTraining training) {
    training.sm = gpus().sm;
    training.takes_gpu_of_rank = gpus().count >= training.placement.world;
    if (!training.takes_gpu_of_rank) ::setenv(kShareGpusVariable, "1", 1);
    std::string bits = train_on_ranks(training);
    ::unsetenv(kShareGpusVariable);
    return bits;
  }
  static std::string bits_alone(RankTraining training) {
    training.sm = gpus().sm;
    return train_alone(training);
  }
};

TEST_F(RanksOnGpus, HaveTheBitsOfOneProcessWithAsManyMicroBatches) {
  for (const int world : {2, 3}) {
    SCOPED_TRACE(world);
    RankTraining alone{.placement = kAllOnDevice};
    alone.placement.clips = true;
    alone.placement.accumulation_steps = world;
    const std::string expected = bits_alone(alone);
    for (const std::size_t i :
         world == 2 ? std::vector<std::size_t>{0, 1, 2, 3, 4, 5} : std::vector<std::size_t>{0, 3}) {
      SCOPED_TRACE(i);
      EXPECT_TRUE(bits_of_ranks({.placement = placements(world)[i]}) == expected);
    }
  }
}

TEST_F(RanksOnGpus, GiveTheSameBitsUnderEveryPlacementWithSeveralMicroBatches) {
  std::string expected;
  for (const std::size_t i : {0, 2, 3}) {
    Placement placement = placements(2)[i];
    placement.accumulation_steps = 2;
    const std::string bits = bits_of_ranks({.placement = placement});
    if (expected.empty()) expected = bits;
    EXPECT_TRUE(bits == expected) << i;
  }
}

TEST_F(RanksOnGpus, HaveTheSameBitsByPeerCopiesAndThroughNccl) {
  for (const std::size_t i : {0, 3}) {
    SCOPED_TRACE(i);
    const RankTraining training{.placement = placements(3)[i]};
    const std::string copied = bits_of_ranks(training);
    ::setenv(kNoPeerCopiesVariable, "1", 1);
    const std::string by_nccl = bits_of_ranks(training);
    ::unsetenv(kNoPeerCopiesVariable);
    EXPECT_TRUE(copied == by_nccl);
  }
}

/// Exchanges of all sizes, smaller and larger than the pieces of shared memory that they go
/// through. Says what is wrong.
std::string exchanged(const Ranks& ranks, const plan::RankGrid& grid) {
  const auto communicator = make_device_communicator(*ranks.steps, grid, /*nccl_adds_up=*/false);
  const int rank = ranks.rank();
  const plan::RankGroup group = grid.same_replica(rank);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::string wrong;
  for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{3'000'001}}) {
    const std::size_t bytes = count * sizeof(float);
    void *from = nullptr, *to = nullptr;
    cudaMalloc(&from, bytes);
    cudaMalloc(&to, bytes);
    const auto expect = [&](const char* what, const std::vector<float>& expected) {
      std::vector<float> found(count);
      cudaStreamSynchronize(stream);
      cudaMemcpy(found.data(), to, bytes, cudaMemcpyDeviceToHost);
      if (found != expected) wrong += fmt::format("{} of {} floats; ", what, count);
    };
    std::vector<float> own(count, 0.0F), all(count, 0.0F);
    for (std::size_t i = 0; i < count; ++i) {
      all[i] = static_cast<float>(i % 1000 + 1);
      if (static_cast<int>(i) % group.count == group.position(rank)) own[i] = all[i];
    }
    cudaMemcpy(from, own.data(), bytes, cudaMemcpyHostToDevice);
    communicator->gather_disjoint(
        group, static_cast<float*>(to), static_cast<const float*>(from), count, stream);
    expect("disjoint", all);
    for (int root = 0; root < ranks.world(); ++root) {
      cudaMemcpy(to, rank == root ? all.data() : own.data(), bytes, cudaMemcpyHostToDevice);
      communicator->broadcast(root, to, static_cast<std::int64_t>(bytes), stream);
      expect("broadcast", all);
    }
    cudaFree(from);
    cudaFree(to);
  }
  cudaStreamDestroy(stream);
  return wrong;
}

TEST_F(RanksOnGpus, SmallThingsReachAllRanks) {
  for (const plan::RankGrid& grid : {plan::RankGrid{.world = 2},
                                     plan::RankGrid{.world = 3},
                                     plan::RankGrid{.world = 4, .replicas = 2}}) {
    for (const bool by_nccl : {false, true}) {
      SCOPED_TRACE(testing::Message() << grid.world << " ranks" << (by_nccl ? ", NCCL" : ""));
      if (by_nccl) ::setenv(kNoPeerCopiesVariable, "1", 1);
      ::setenv(kShareGpusVariable, "1", 1);
      for (const std::string& wrong :
           on_ranks(grid.world, [&](const Ranks& ranks) { return exchanged(ranks, grid); })) {
        EXPECT_EQ(wrong, "");
      }
      ::unsetenv(kShareGpusVariable);
      ::unsetenv(kNoPeerCopiesVariable);
    }
  }
}

TEST_F(RanksOnGpus, ReplicasChangeNoBits) {
  for (const auto& [world, replicas] : {std::pair(2, 2), std::pair(4, 2), std::pair(4, 4)}) {
    for (const std::size_t i : {0, 3}) {
      SCOPED_TRACE(testing::Message() << world << " ranks, " << replicas << " replicas, " << i);
      RankTraining training{.placement = placements(world)[i]};
      const std::string expected = bits_of_ranks(training);
      training.placement.replicas = replicas;
      EXPECT_TRUE(bits_of_ranks(training) == expected);
      ::setenv(kNoPeerCopiesVariable, "1", 1);
      EXPECT_TRUE(bits_of_ranks(training) == expected) << "through NCCL";
      ::unsetenv(kNoPeerCopiesVariable);
    }
  }
}

TEST_F(RanksOnGpus, ReducingOnceAStepGivesTheSameBitsUnderEveryPlacement) {
  for (const auto& [world, replicas] : {std::pair(2, 1), std::pair(3, 1), std::pair(4, 2)}) {
    std::string expected;
    for (const std::size_t i : {0, 2, 3}) {
      SCOPED_TRACE(testing::Message() << world << " ranks, " << replicas << " replicas, " << i);
      RankTraining training{.placement = placements(world)[i]};
      training.placement.accumulation_steps = 2;
      training.placement.replicas = replicas;
      training.placement.reduce_per = plan::ReducePer::kStep;
      const std::string bits = bits_of_ranks(training);
      if (expected.empty()) expected = bits;
      EXPECT_TRUE(bits == expected);
    }
  }
}

/// Sums in NCCL's order: two ranks have only one, so that every placement has the same bits, and in
/// fp32 those of Elixir's.
TEST_F(RanksOnGpus, NcclAddsUpInAnOrderOfItsOwn) {
  std::string expected;
  for (const std::size_t i : {0, 2, 3}) {
    SCOPED_TRACE(i);
    RankTraining training{.placement = placements(2)[i]};
    training.placement.accumulation_steps = 2;
    training.placement.reduced_by = plan::Reduce::kNccl;
    const std::string bits = bits_of_ranks(training);
    if (expected.empty()) expected = bits;
    EXPECT_TRUE(bits == expected);
    training.placement.replicas = 2;
    EXPECT_TRUE(bits_of_ranks(training) == expected) << "replicas";
    training.placement.reduce_per = plan::ReducePer::kStep;
    const std::string once = bits_of_ranks(training);
    training.placement.reduced_by = plan::Reduce::kOrdered;
    EXPECT_TRUE(bits_of_ranks(training) == once) << "two numbers in fp32 have one sum";
  }
  RankTraining four{.placement = placements(4)[3]};
  four.placement.replicas = 2;
  four.placement.reduced_by = plan::Reduce::kNccl;
  EXPECT_TRUE(bits_of_ranks(four) == bits_of_ranks(four)) << "a plan repeats its bits";
}

TEST_F(RanksOnGpus, EditsAndALateRankChangeNoBits) {
  RankTraining training{.placement = kAllOnHost};
  training.placement.world = 2;
  training.placement.clips = true;
  const std::string expected = bits_of_ranks(training);
  training.recomputes = true;
  EXPECT_TRUE(bits_of_ranks(training) == expected) << "recomputed";
  training.recomputes = false;
  training.offload_nth = 2;
  EXPECT_TRUE(bits_of_ranks(training) == expected) << "offloaded";
  training.placement = kAllOnDevice;  // some wait in memory of gradients
  training.placement.world = 2;
  training.placement.clips = true;
  EXPECT_TRUE(bits_of_ranks(training) == expected) << "offloaded, and all else on the device";
  training.placement = kAllOnHost;
  training.placement.world = 2;
  training.placement.clips = true;
  training.offload_nth = 0;
  training.late_ms = 200;
  EXPECT_TRUE(bits_of_ranks(training) == expected) << "late";
}

TEST_F(RanksOnGpus, BuffersThatAStepChangesAreThoseOfTheFirst) {
  RankTraining two{.model = "resnet-tiny-bf16", .placement = kAllOnHost};
  two.placement.world = 2;
  const std::string bits = bits_of_ranks(two);
  two.placement = kAllOnDevice;
  two.placement.world = 2;
  EXPECT_TRUE(bits_of_ranks(two) == bits);
}

TEST_F(RanksOnGpus, TwoOnOneGpuAreRefused) {
  RankTraining training{.placement = kAllOnDevice, .sm = gpus().sm};
  training.placement.world = 2;
  for (const std::string& text :
       on_ranks(2, [&](const Ranks& ranks) { return train(training, ranks); })) {
    EXPECT_NE(text.find("ranks 0 and 1 have the same GPU"), std::string::npos) << text;
  }
}

/// It waits on the GPU, where nothing else would end it.
TEST_F(RanksOnGpus, OneThatIsGoneEndsTheOthers) {
  RankTraining training{.placement = kAllOnHost, .sm = gpus().sm};
  training.placement.world = 2;
  ::setenv(kShareGpusVariable, "1", 1);
  training.dies_after_steps = 2;
  const std::vector<std::string> texts =
      on_ranks(2, [&](const Ranks& ranks) { return train(training, ranks); });
  ::unsetenv(kShareGpusVariable);
  EXPECT_NE(texts[0].find("rank 0 lost rank 1 of 2"), std::string::npos) << texts[0].substr(0, 200);
}

}  // namespace
}  // namespace elixir::runtime
