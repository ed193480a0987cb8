// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CUDA device of a build without CUDA.
#include "core/error.h"
#include "runtime/device/device.h"

namespace elixir::runtime {

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& /*options*/) {
  throw Error(ErrorCode::kMissingFeature, "this build of Elixir has no CUDA device")
      .help("configure with -Dcuda=enabled, or choose --device cpu");
}

}  // namespace elixir::runtime
