// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/dropout_state.h"

#include <map>
#include <mutex>

#include <ATen/ops/_cudnn_init_dropout_state.h>
#include <ATen/ops/empty.h>

namespace elixir::replay {
namespace {

struct States {
  std::mutex mutex;
  std::map<c10::DeviceIndex, at::Tensor> by_device;
};

/// Never destroyed, because freeing its tensors after the end of the CUDA runtime would fail.
States& states() {
  static auto* all = new States;
  return *all;
}

}  // namespace

at::Tensor cudnn_dropout_state(double probability, c10::Device device) {
  States& all = states();
  const std::scoped_lock lock(all.mutex);
  at::Tensor& state = all.by_device[device.index()];
  if (!state.defined()) {
    const auto options = at::TensorOptions().device(device);
    const auto seed = at::empty({}, options.dtype(at::kLong)).random_().item().to<std::int64_t>();
    state =
        at::_cudnn_init_dropout_state(probability, /*train=*/true, seed, options.dtype(at::kByte));
  }
  return state;
}

void reset_cudnn_dropout_state() {
  States& all = states();
  const std::scoped_lock lock(all.mutex);
  all.by_device.clear();
}

}  // namespace elixir::replay
