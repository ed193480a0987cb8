// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "capture/operator_coverage.h"
#include "capture/random_calls.h"
#include "capture/schema_calls.h"
#include "gpu/scratch/trial.h"
#include "operators/scratch/evidence/known_without_scratch.h"

namespace elixir::tests {
namespace {

struct Left {
  std::string_view part;  ///< of the name
  std::string_view why;
};

/// Operators that are not called, with the reason.
constexpr std::array kLeftOut{
    Left{"aten::_assert", "ends the process when a value is wrong"},
    Left{"aten::_nested", "makes tensors that a program lacks"},
    Left{"aten::_sparse", "makes tensors that a program lacks"},
    Left{"aten::sparse_", "makes tensors that a program lacks"},
    Left{"aten::crow_indices", "of tensors that a program lacks"},
    Left{"aten::ccol_indices", "of tensors that a program lacks"},
    Left{"aten::col_indices", "of tensors that a program lacks"},
    Left{"aten::row_indices", "of tensors that a program lacks"},
    Left{"aten::indices", "of tensors that a program lacks"},
    Left{"aten::values", "of tensors that a program lacks"},
    Left{"aten::_test_", "for LibTorch's own tests"},
    Left{"aten::mkldnn_", "of the CPU alone"},
    Left{"aten::_nnpack", "of the CPU alone"},
    Left{"for_cpu", "of the CPU alone"},
    Left{"_cpu_fallback", "of the CPU alone"},
    Left{"overrideable", "no device has a kernel"},
};

bool is_left_out(const std::string& op) {
  return std::any_of(kLeftOut.begin(), kLeftOut.end(), [&](const Left& left) {
    return op.find(left.part) != std::string::npos;
  });
}

std::set<std::string> names_of_interest() {
  std::set<std::string> names;
  for (const capture::OperatorRow& row : capture::operator_rows(ELIXIR_DERIVATIVES)) {
    if (row.coverage != capture::Coverage::kNone) names.insert("aten::" + row.name);
  }
  for (const std::string_view name : operators::ruled_operators()) names.emplace(name);
  for (const std::string_view name : operators::names_without_scratch_by_source()) {
    names.emplace(name);
  }
  for (const std::string_view name : operators::library_calls()) names.emplace(name);
  return names;
}

}  // namespace

std::vector<Subject> subjects() {
  std::map<std::string, std::function<capture::Values(capture::Random&)>> generators;
  for (capture::RandomCalls calls : {capture::all_random_calls(), capture::structured_calls()}) {
    for (capture::RandomCall& call : calls) {
      generators.insert_or_assign(std::move(call.op), std::move(call.draw));
    }
  }
  std::set<std::string> names = names_of_interest();
  for (const auto& generator : generators) names.insert(generator.first);
  std::vector<Subject> all;
  for (const std::string& op : names) {
    if (is_left_out(op)) continue;
    const std::size_t dot = op.find('.');
    const auto handle = c10::Dispatcher::singleton().findSchema(
        {op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)});
    if (!handle) continue;  // a name without its overloads
    Subject subject{.op = op, .handle = *handle, .draw = {}};
    const auto generator = generators.find(op);
    subject.draw = generator != generators.end()
                       ? generator->second
                       : [handle = *handle](capture::Random& random) {
                           return capture::draw_by_schema(handle.schema(), random);
                         };
    all.push_back(std::move(subject));
  }
  return all;
}

}  // namespace elixir::tests
