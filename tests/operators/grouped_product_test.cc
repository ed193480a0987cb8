// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Products of groups, as experts have them: their operations, and what they ask an H200 for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "operators/flops.h"
#include "scratch/single_call.h"

namespace elixir::operators {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kGroups = 8, kRows = 32, kInner = 64, kColumns = 128;

Call product(TensorRef left, TensorRef right, bool has_ends, TensorRef result) {
  Call call("aten::_grouped_mm");
  call.tensor_argument(std::move(left)).tensor_argument(std::move(right));
  if (has_ends) {
    call.tensor_argument(tensor({kGroups}, DType::kInt32));
  } else {
    call.argument(program::None{});
  }
  return call.argument(program::None{}).argument(program::None{}).output(std::move(result));
}

Call rows_by_matrices(DType dtype) {
  return product(tensor({kGroups * kRows, kInner}, dtype),
                 tensor({kGroups, kInner, kColumns}, dtype),
                 true,
                 tensor({kGroups * kRows, kColumns}, dtype));
}

// As an H200 with 132 multiprocessors was seen to ask for them.
TEST(GroupedProduct, AsksForPointersAndTensorMapsInBf16) {
  const Call call = rows_by_matrices(DType::kBFloat16);
  EXPECT_THAT(call.script(), ElementsAre("o3", "+480", "+67584", "-1", "-0"));
  EXPECT_EQ(call.source(), ScriptSource::kExact);
  // The number of pointers is even.
  EXPECT_THAT(product(tensor({3, kRows, kInner}, DType::kBFloat16),
                      tensor({3, kInner, kColumns}, DType::kBFloat16),
                      false,
                      tensor({3, kRows, kColumns}, DType::kBFloat16))
                  .script(),
              ElementsAre("o2", "+204", "+67584", "-1", "-0"));
}

TEST(GroupedProduct, AsksForCublasWorkspaceOtherwise) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    EXPECT_THAT(rows_by_matrices(dtype).script(), ElementsAre("o3", "!33554432"));
  }
}

TEST(GroupedProduct, TakesWhatItsGroupsTake) {
  const auto flops = [](const Call& call) { return flops_of(call.program().operators.front()); };
  constexpr std::int64_t kOfOneGroup = 2 * kRows * kInner * kColumns;
  const DType dtype = DType::kFloat32;
  EXPECT_EQ(flops(rows_by_matrices(dtype)), kGroups * kOfOneGroup);
  EXPECT_EQ(flops(product(tensor({kRows, kGroups * kInner}),
                          tensor({kGroups * kInner, kColumns}),
                          true,
                          tensor({kGroups, kRows, kColumns}))),
            kGroups * kOfOneGroup);
  EXPECT_EQ(flops(product(tensor({kGroups, kRows, kInner}),
                          tensor({kInner, kGroups * kColumns}),
                          true,
                          tensor({kRows, kGroups * kColumns}))),
            kGroups * kOfOneGroup);
  EXPECT_EQ(flops(product(tensor({kGroups, kRows, kInner}),
                          tensor({kGroups, kInner, kColumns}),
                          false,
                          tensor({kGroups, kRows, kColumns}))),
            kGroups * kOfOneGroup);
}

}  // namespace
}  // namespace elixir::operators
