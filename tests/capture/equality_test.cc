// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A program captured on meta for the CPU is what the CPU dispatches: the same calls, arguments and
// geometry, and the same lifetimes of storages.
#include <gtest/gtest.h>

#include "equality.h"

namespace elixir::capture {
namespace {

class MetaEqualsCpu : public testing::TestWithParam<ModelCase> {};

TEST_P(MetaEqualsCpu, OperatorByOperatorWithGeometryAndLifetimes) {
  expect_meta_equals_device(GetParam(), *program::Target::parse("cpu"));
}

INSTANTIATE_TEST_SUITE_P(Models, MetaEqualsCpu, testing::ValuesIn(model_cases()), name_of_case);

}  // namespace
}  // namespace elixir::capture
