// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A measurement whose kernel cannot be launched ends the run as a device failure. Needs no GPU,
// because the requested grid is too large for any GPU.
#include <cstddef>

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/cuda_kernels.h"
#include "measure/measure.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

const Registration kRefusedLaunch({
    "refused-launch",
    "nothing",
    "asks for a grid that is larger than any",
    0.2,
    0.1,
    never,
    [](const Bench&, hardware::HardwareProfile&) {
      constexpr std::size_t kBlocksOfNoGrid = std::size_t{1} << 32;
      kernels::sum_squares_cuda(nullptr,
                                kernels::Element::kFloat32,
                                kBlocksOfNoGrid * kernels::kNormBlockElements,
                                1.0F,
                                nullptr,
                                nullptr);
    },
});

TEST(Measure, ARefusedLaunchIsAFailureOfTheDevice) {
  Request request;
  request.device = DeviceChoice::kCpu;
  request.effort = Effort::kQuick;
  request.only = {"refused-launch"};
  try {
    (void)measure(request);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kDeviceFailure);
    EXPECT_EQ(exit_code_of(error.info().code), 4);
    EXPECT_NE(error.info().message.find("sum_squares_cuda"), std::string::npos);
  }
}

}  // namespace
}  // namespace elixir::measure
