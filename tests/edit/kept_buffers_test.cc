// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/kept_buffers.h"

#include <gtest/gtest.h>

#include "edit/symbolic_run.h"
#include "fakes/program_builder.h"

namespace elixir::edit {
namespace {

using fakes::ProgramBuilder;
using fakes::TensorRef;
using program::Program;
using tests::run_symbolically;

/// Forward alone: it counts its calls in a buffer and reads another.
Program counting_program() {
  ProgramBuilder builder;
  const TensorRef scale = builder.buffer("scale", {4});
  const TensorRef count = builder.buffer("count", {4});
  const TensorRef x = builder.input("x", {4});
  const TensorRef counted = builder.write("aten::add_", count, {x});
  const TensorRef product = builder.call("aten::mul", {x, scale}, {4});
  builder.set_loss(builder.call("aten::mul", {product, counted}, {4}));
  return builder.build();
}

TEST(KeptBuffers, WhatForwardWritesIsACopy) {
  const Program program = counting_program();
  const Program kept = keep_buffers(program);
  ASSERT_EQ(kept.operators.size(), program.operators.size() + 1);
  EXPECT_EQ(kept.operators[0].name, "aten::clone");
  const program::StorageId count = program.buffers[1].tensor.storage;
  for (const program::Operator& op : kept.operators) {
    EXPECT_EQ(op.id, &op - kept.operators.data());
    program::for_each_tensor(
        op.outputs, [&](const TensorRef& tensor) { EXPECT_NE(tensor.storage, count) << op.name; });
  }
  for (const program::Buffer& buffer : kept.buffers) EXPECT_FALSE(buffer.mutated) << buffer.name;
  const auto before = run_symbolically(program);
  const auto after = run_symbolically(kept);
  EXPECT_EQ(after.buffers.at("scale"), before.buffers.at("scale"));
  EXPECT_NE(after.buffers.at("count"), before.buffers.at("count"));
}

TEST(KeptBuffers, WithoutSuchABufferNothingChanges) {
  const Program kept = keep_buffers(counting_program());
  EXPECT_EQ(program::fingerprint(keep_buffers(kept)), program::fingerprint(kept));
}

}  // namespace
}  // namespace elixir::edit
