// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/error.h"
#include "runtime/ranks/device_communicator.h"

namespace elixir::runtime {

std::unique_ptr<DeviceCommunicator> make_device_communicator(Communicator& /*host*/,
                                                             const plan::RankGrid& /*grid*/) {
  throw Error(ErrorCode::kMissingFeature, "this build of Elixir has no NCCL")
      .help("build it beside a LibTorch for CUDA, which brings NCCL");
}

}  // namespace elixir::runtime
