// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A refused launch, without a GPU or because the grid is too large, is a device failure. Needs no
// GPU.
#include "replay/launch_errors.h"

#include <cstddef>

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/cuda_kernels.h"

namespace elixir::runtime {
namespace {

TEST(LaunchErrors, AreDeviceFailures) {
  constexpr std::size_t kBlocksOfNoGrid = std::size_t{1} << 32;
  try {
    replay::with_launch_errors([] {
      kernels::sum_squares_cuda(nullptr,
                                kernels::Element::kFloat32,
                                kBlocksOfNoGrid * kernels::kNormBlockElements,
                                1.0F,
                                nullptr,
                                nullptr);
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kDeviceFailure);
    EXPECT_EQ(exit_code_of(error.info().code), 4);
    EXPECT_NE(error.info().message.find("sum_squares_cuda"), std::string::npos);
  }
}

TEST(LaunchErrors, OfLibTorchAreToo) {
  try {
    replay::with_launch_errors([] {
      throw c10::AcceleratorError(
          {"sum", "Sum.cu", 1}, 9, "CUDA error: invalid configuration argument\nSearch for ...");
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kDeviceFailure);
    EXPECT_EQ(error.info().message, "CUDA error: invalid configuration argument");
  }
}

}  // namespace
}  // namespace elixir::runtime
