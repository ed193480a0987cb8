// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The GPU functions of the measurements. Every case skips itself without a GPU (or without two).
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/units.h"
#include "hardware/line_fit.h"
#include "measure/collectives/collectives.h"
#include "measure/links/contending_work.h"
#include "measure/links/gpu_links.h"
#include "measure/links/works_at_once.h"
#include "measure/machine/gpu_probe.h"
#include "measure/measure.h"
#include "measure/operators/kernel_timer.h"

namespace elixir::measure {
namespace {

constexpr Sampling kFew = {2, 5, 10, 0.2};

double median(const std::vector<double>& seconds) {
  return quantile(seconds, 0.5);
}

class GpuMeasure : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = gpu_unavailable()) GTEST_SKIP() << *reason;
  }
};

TEST_F(GpuMeasure, CopiesBySizeFollowALine) {
  const std::vector<std::int64_t> sizes = {4_KiB, 64_KiB, 1_MiB, 16_MiB, 256_MiB};
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    const auto seconds = gpu_copy_seconds_by_size(direction, HostPages::kPinned, sizes, kFew);
    std::vector<hardware::TimedBytes> points;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      points.push_back({static_cast<double>(sizes[i]), median(seconds[i])});
    }
    const hardware::TransferLine line = hardware::fit_line(points);
    EXPECT_LT(line.worst_relative_error, 0.5);
    EXPECT_LT(line.latency_s, 50e-6);
    const double large = median(gpu_copy_seconds(direction, HostPages::kPinned, 256_MiB, 4, kFew));
    EXPECT_NEAR(points.back().seconds / large, 1, 0.05) << "one copy and four in a row";
  }
}

TEST_F(GpuMeasure, AGroupOfOneIsTheGpuAlone) {
  const double bytes = 256_MiB;
  const double alone =
      median(gpu_copy_seconds(Direction::kHostToDevice, HostPages::kPinned, 256_MiB, 4, kFew));
  const double group = median(gpu_group_copy_seconds(Traffic::kUp, 1, 256_MiB, 4, kFew)) / 4;
  EXPECT_NEAR(group / alone, 1, 0.02);
  const double both = median(gpu_group_copy_seconds(Traffic::kBoth, 1, 256_MiB, 4, kFew)) / 4;
  EXPECT_GT(both, alone * 0.98);
  EXPECT_GT(2 * bytes / both, bytes / alone) << "both directions together carry more than one";
}

TEST_F(GpuMeasure, AllGpusTogetherMoveNoLessThanOne) {
  const int gpus = gpu_count();
  if (gpus < 2) GTEST_SKIP() << "one GPU";
  const double one = median(gpu_group_copy_seconds(Traffic::kUp, 1, 256_MiB, 4, kFew));
  const double all = median(gpu_group_copy_seconds(Traffic::kUp, gpus, 256_MiB, 4, kFew));
  EXPECT_GT(all, one * 0.95);
  EXPECT_LT(all, one * gpus * 1.05);
}

TEST_F(GpuMeasure, PeersReceiveWhatWasSent) {
  if (gpu_count() < 2) GTEST_SKIP() << "one GPU";
  const double seconds = median(gpu_peer_copy_seconds(0, 1, 64_MiB, 4, kFew));
  EXPECT_GT(seconds, 0);
  EXPECT_LT(median(gpu_peer_copy_seconds(1, 0, 4096, 1, kFew)), seconds);
}

TEST_F(GpuMeasure, CollectivesGiveRightResults) {
  const int gpus = gpu_count();
  if (const auto reason = collectives_unavailable(gpus)) GTEST_SKIP() << *reason;
  CollectiveGroup group(gpus, 16_MiB);
  for (const CollectiveOperation operation : {CollectiveOperation::kAllGather,
                                              CollectiveOperation::kReduceScatter,
                                              CollectiveOperation::kAllReduce,
                                              CollectiveOperation::kBroadcast}) {
    // A wrong result throws an Error.
    const double small = median(group.seconds(operation, 4_KiB, 20, kFew));
    const double large = median(group.seconds(operation, 16_MiB, 4, kFew));
    EXPECT_GT(small, 0);
    EXPECT_GT(large, small);
  }
}

TEST_F(GpuMeasure, KernelsAreTimedAsEventsTimeThem) {
  if (const auto reason = kernel_timer_unavailable()) GTEST_SKIP() << *reason;
  const auto options = at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
  const at::Tensor a = at::empty({4096, 4096}, options).normal_();
  const auto product = [&] { (void)at::mm(a, a); };
  product();
  std::vector<double> by_kernels;
  for (int i = 0; i < 7; ++i) by_kernels.push_back(gpu_kernel_seconds(product));
  const double by_events = median(gpu_work_seconds(product, kFew));
  EXPECT_NEAR(median(by_kernels) / by_events, 1, 0.05);
  EXPECT_EQ(gpu_kernel_seconds([] {}), 0) << "no work, no time";
}

TEST_F(GpuMeasure, WorksOfTheGpuDisturbEachOtherOrNot) {
  kernels::ThreadPool pool(4);
  SpreadMemory memory(2_GiB, pool, gpu_page_lock());
  const auto up = make_link_work(Direction::kHostToDevice, 64_MiB, 1, memory);
  const auto down = make_link_work(Direction::kDeviceToHost, 64_MiB, 1, memory);
  constexpr Windows kShort = {5, 0.05};
  const double alone = median(unit_seconds({up.get()}, kShort).front());
  const double beside = median(unit_seconds({up.get(), down.get()}, kShort).front());
  EXPECT_GT(beside / alone, 0.9);
  EXPECT_LT(beside / alone, 4);
  const double expected =
      4 * median(gpu_copy_seconds(Direction::kHostToDevice, HostPages::kPinned, 64_MiB, 4, kFew));
  EXPECT_NEAR(alone / expected, 1, 0.1) << "a unit is four copies without gaps";
}

TEST_F(GpuMeasure, AnArenaIsPinnedSoonerThanThePlainAllocatorPins) {
  Request request;
  request.only = std::vector<std::string>{"pinned-allocation"};
  request.effort = Effort::kQuick;
  const hardware::HardwareProfile p = measure(request).profile;
  ASSERT_TRUE(p.links.pinned_allocation);
  EXPECT_GT(p.links.pinned_allocation->arena_bytes_per_s.median,
            p.links.pinned_allocation->plain_bytes_per_s.median);
}

TEST_F(GpuMeasure, EverythingQuicklyIsAWholeProfile) {
  Request request;
  request.effort = Effort::kQuick;
  const hardware::HardwareProfile p = measure(request).profile;
  EXPECT_EQ(static_cast<int>(p.gpus.size()), gpu_count());
  EXPECT_EQ(p.links.curves.size(), 5U);
  // Both directions of the link beside each other, and beside each of AdamW's three passes; each of
  // these beside two others at once.
  constexpr std::size_t kOfHostMemory = 2 + 12 + 9;
  // Products beside these and the whole pass; sums over ranks beside products; always also the
  // reverse.
  std::size_t cells = kOfHostMemory + 6 + 2;
  if (gpu_count() > 1) cells += 2;  // copies between GPUs beside products
  for (int gpus = 2; gpus <= gpu_count(); gpus *= 2) cells += kOfHostMemory;
  if (!p.collectives.empty()) cells += 8;
  EXPECT_EQ(p.contention.size(), cells);
  ASSERT_EQ(p.sustained.size(), 3U);  // products half, three quarters and all of the time
  for (const hardware::SustainedRate& rate : p.sustained) {
    // Below 1, because the reference, calls in a row, is not at the full clock either (H100: 0.94).
    EXPECT_GT(rate.slowdown.median, 0.9) << rate.duty;
    EXPECT_LT(rate.slowdown.median, 2) << rate.duty;
  }
  for (const auto& [name, reason] : p.waived) {
    EXPECT_THAT((std::vector<std::string>{"disk", "peer-to-peer", "collectives", "hungry"}),
                ::testing::Contains(name))
        << reason;
  }
}

}  // namespace
}  // namespace elixir::measure
