// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A program captured on meta for CUDA is what a GPU dispatches. Needs compute capability 9.0.
#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "../capture/equality.h"

namespace elixir::capture {
namespace {

class MetaEqualsCuda : public testing::TestWithParam<ModelCase> {};

TEST_P(MetaEqualsCuda, OperatorByOperatorWithGeometryAndLifetimes) {
  if (!at::hasCUDA() || at::getNumGPUs() == 0) GTEST_SKIP() << "no GPU";
  if (GetParam().name == "lstm" || GetParam().name == "recurrent") {
    // Real tensors first need the weights' addresses and the dropout's seed, that is, an item()
    // that ends a capture. tests/memory/recorded/recorded_programs_test.cc checks an LSTM's
    // allocations instead.
    GTEST_SKIP() << "recurrent layers draw a seed on the GPU, which no capture can";
  }
  // Bags of embeddings with maxima have no gradient in bfloat16.
  const bool refused = GetParam().name == "recommendation" && GetParam().dtype == "bfloat16";
  expect_meta_equals_device(GetParam(), *program::Target::parse("cuda:sm_90"), refused);
}

/// Also includes a model whose values the CPU reads but CUDA does not.
std::vector<ModelCase> cuda_cases() {
  std::vector<ModelCase> cases = model_cases();
  for (const char* dtype : {"float32", "bfloat16", "float16"}) cases.push_back({"one-hot", dtype});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, MetaEqualsCuda, testing::ValuesIn(cuda_cases()), name_of_case);

}  // namespace
}  // namespace elixir::capture
