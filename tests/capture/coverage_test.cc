// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// docs/operators.md lists the operators of LibTorch that a capture covers. ELIXIR_TEST_ACCEPT=1
// rewrites it and skips the test. Runs in its own process, because the list is that of LibTorch's
// CPU build alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>

#include "capture/meta/meta_kernels.h"
#include "core/files.h"
#include "operator_coverage.h"

namespace elixir::capture {
namespace {

std::vector<OperatorRow> rows() {
  return operator_rows(ELIXIR_DERIVATIVES);
}

const OperatorRow* row_of(const std::vector<OperatorRow>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.name == name; });
  return found == all.end() ? nullptr : &*found;
}

TEST(OperatorCoverage, ThePageIsUpToDate) {
  const std::string page = operator_page(rows());
  const std::string path = ELIXIR_OPERATORS_PAGE;
  if (std::getenv("ELIXIR_TEST_ACCEPT") != nullptr) {
    write_file(path, page, Overwrite::kAllow);
    GTEST_SKIP() << "accepted " << path;
  }
  EXPECT_TRUE(page == read_file(path))
      << path << " is out of date; ELIXIR_TEST_ACCEPT=1 writes it anew for `git diff`";
}

TEST(OperatorCoverage, TellsTheSourcesApart) {
  const std::vector<OperatorRow> all = rows();
  const auto expect = [&](const char* name, bool differentiable, Coverage coverage) {
    const OperatorRow* row = row_of(all, name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_EQ(row->differentiable, differentiable) << name;
    EXPECT_EQ(row->coverage, coverage) << name;
  };
  expect("index_select", true, Coverage::kRule);
  expect("relu_", true, Coverage::kRule);  // by the rule of relu
  expect("addmm", true, Coverage::kMeta);
  expect("expand", true, Coverage::kComposite);
  expect("_embedding_bag_per_sample_weights_backward", false, Coverage::kRule);
  expect("masked_select", true, Coverage::kNone);
  EXPECT_EQ(row_of(all, "linear"), nullptr);   // composed above autograd
  EXPECT_EQ(row_of(all, "add.out"), nullptr);  // autograd refuses it
}

TEST(OperatorCoverage, RulesAreForOperatorsThatExist) {
  for (const std::string& op : ruled_operators()) {
    const std::size_t dot = op.find('.');
    const c10::OperatorName name(op.substr(0, dot),
                                 dot == std::string::npos ? "" : op.substr(dot + 1));
    EXPECT_TRUE(c10::Dispatcher::singleton().findSchema(name).has_value()) << op;
  }
}

}  // namespace
}  // namespace elixir::capture
