// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/module_buffers.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "fakes/error_of.h"

namespace elixir::runtime {
namespace {

using tests::error_of;

/// Two elements in memory, each three times in a row.
program::Buffer expanded() {
  program::Buffer buffer;
  buffer.name = "mask";
  buffer.tensor.sizes = {2, 3};
  buffer.tensor.strides = {1, 0};
  return buffer;
}

TEST(ModuleBuffers, AnExpandedOneTakesEqualElements) {
  const auto device = make_cpu_device({});
  const at::Tensor memory = at::zeros({2});
  const at::Tensor value = at::tensor({1.0F, 2.0F}).view({2, 1}).expand({2, 3}).clone();
  write_buffer(*device, memory.storage(), expanded(), value);
  EXPECT_TRUE(at::equal(memory, at::tensor({1.0F, 2.0F})));
  EXPECT_TRUE(at::equal(read_buffer(*device, memory.storage(), expanded()), value));
  const at::Tensor nan = at::full({2, 3}, std::numeric_limits<float>::quiet_NaN());
  write_buffer(*device, memory.storage(), expanded(), nan);
  EXPECT_TRUE(memory.isnan().all().item<bool>());
}

TEST(ModuleBuffers, AnExpandedOneRefusesWhatItCannotHold) {
  const auto device = make_cpu_device({});
  const at::Tensor memory = at::zeros({2});
  at::Tensor value = at::zeros({2, 3});
  value[1][2] = 1;
  const ErrorInfo error =
      error_of([&] { write_buffer(*device, memory.storage(), expanded(), value); });
  EXPECT_EQ(error.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(error.message.find("holds 2 of its 6 elements"), std::string::npos) << error.message;
}

TEST(ModuleBuffers, OneWithoutElementsTakesNothing) {
  const auto device = make_cpu_device({});
  const at::Tensor memory = at::zeros({0});
  program::Buffer buffer;
  buffer.name = "none";
  buffer.tensor.sizes = {0, 3};
  buffer.tensor.strides = {3, 1};
  write_buffer(*device, memory.storage(), buffer, at::zeros({0, 3}));
  EXPECT_EQ(read_buffer(*device, memory.storage(), buffer).sizes(), at::IntArrayRef({0, 3}));
}

}  // namespace
}  // namespace elixir::runtime
