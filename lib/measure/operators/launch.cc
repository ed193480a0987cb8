// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Host time of one replayed operator: the cost of every call before its kernel starts.
#include <ATen/ops/empty.h>

#include "measure/machine/gpu_probe.h"
#include "measure/measurement.h"
#include "replay/replay_call.h"

namespace elixir::measure {
namespace {

constexpr int kCallsPerSample = 200;

/// c = a + b of 64 elements, as a captured program would have it.
program::Program small_addition() {
  program::Program p;
  for (program::StorageId id = 0; id < 3; ++id) {
    program::Storage storage;
    storage.id = id;
    storage.bytes = 256;
    p.storages.push_back(storage);
  }
  const auto tensor = [](program::StorageId id) {
    program::TensorRef ref;
    ref.storage = id;
    ref.sizes = {64};
    ref.strides = {1};
    return ref;
  };
  program::Operator add;
  add.id = 0;
  add.name = "aten::add";
  add.overload = "Tensor";
  add.arguments = {tensor(0), tensor(1), std::int64_t{1}};
  add.outputs = {tensor(2)};
  p.operators.push_back(add);
  return p;
}

const Registration kLaunch({
    "launch",
    "nanoseconds of host time that one replayed operator takes",
    "200 additions of 64 elements through the runtime's replay, the GPU not waited for",
    0.5,
    0.2,
    never,
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      const program::Program program = small_addition();
      replay::ReplayCall call(program, 0);
      const auto options =
          at::TensorOptions().device(bench.on_cuda() ? at::kCUDA : at::kCPU).dtype(at::kFloat);
      replay::StorageTable storages(3);
      storages[0] = at::empty({64}, options).fill_(1).storage();
      storages[1] = at::empty({64}, options).fill_(2).storage();
      const replay::ReplayScope scope;
      std::vector<double> seconds = sample(bench.sampling(), [&] {
        if (bench.on_cuda()) gpu_synchronize();
        return seconds_of([&] {
                 for (int i = 0; i < kCallsPerSample; ++i) {
                   call.run(storages);
                   storages[2] = c10::Storage();
                 }
               }) /
               kCallsPerSample;
      });
      profile.launch_ns =
          time_figure(seconds, "replayed addition of 64 elements, mean of 200, wall clock");
    },
});

}  // namespace
}  // namespace elixir::measure
