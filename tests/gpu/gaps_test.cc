// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Copies of one stream get between those of another one in the same direction: a fetch between
// loads of state. Skipped without a GPU.
#include <cstdint>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "core/units.h"
#include "runtime/device/device.h"

namespace elixir::runtime {
namespace {

using schedule::Stream;
using schedule::Task;
using schedule::TaskId;

constexpr TaskId kLoads = 96, kFetch = kLoads, kLoadBefore = 8;
constexpr std::int64_t kCopiedBytes = 16_MiB;

TEST(Gaps, AFetchDoesNotWaitForAllLoadsThatAreEnqueued) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
  DeviceOptions options;
  options.memory_limit_bytes = 1_GiB;
  const std::unique_ptr<Device> device = make_cuda_device(options);
  const std::vector<void*> here =
      device->allocate(schedule::Arena::kDevice, {kCopiedBytes, kCopiedBytes});
  const std::vector<void*> there =
      device->allocate(schedule::Arena::kHost, {kCopiedBytes, kCopiedBytes});
  std::vector<Task> tasks(kLoads + 1);
  for (TaskId id = 0; id <= kFetch; ++id) {
    Task& task = tasks[static_cast<std::size_t>(id)];
    task.id = id;
    task.kind = id == kFetch ? schedule::TaskKind::kFetch : schedule::TaskKind::kLoadState;
    task.stream = id == kFetch ? Stream::kHostToDevice : Stream::kDeviceUpdate;
  }
  tasks[kFetch].after = {kLoadBefore};
  for (int round = 0; round < 3; ++round) {
    device->begin_step(
        {.ids = tasks.size(),
         .ends = std::vector<schedule::Awaited>(tasks.size(), schedule::Awaited::kByHost),
         .timed = true});
    for (const Task& task : tasks) {
      const std::size_t place = task.id == kFetch ? 1 : 0;
      device->issue(task, [to = here[place], from = there[place]](StreamOperations& operations) {
        operations.copy(to, from, kCopiedBytes);
      });
    }
    device->end_issue();
    const StepTimes times = device->end_step();
    EXPECT_GE(times.tasks[kFetch].start_ns, times.tasks[kLoadBefore].end_ns);
    EXPECT_LT(times.tasks[kFetch].end_ns, times.tasks[kLoads / 2].end_ns)
        << "of loads that took until " << times.tasks[kLoads - 1].end_ns;
  }
}

}  // namespace
}  // namespace elixir::runtime
