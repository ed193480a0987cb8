// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/operator_facts.h"

#include <array>
#include <string_view>

namespace elixir::capture {
namespace {

/// Operators whose result, or the size of it, is a value of the step's data.
constexpr std::array<std::string_view, 15> kReadsData{"aten::_local_scalar_dense",
                                                      "aten::nonzero",
                                                      "aten::nonzero_numpy",
                                                      "aten::masked_select",
                                                      "aten::_unique",
                                                      "aten::_unique2",
                                                      "aten::unique_dim",
                                                      "aten::unique_consecutive",
                                                      "aten::unique_dim_consecutive",
                                                      "aten::repeat_interleave",
                                                      "aten::bincount",
                                                      "aten::is_nonzero",
                                                      "aten::item",
                                                      "aten::equal",
                                                      "aten::argwhere"};

}  // namespace

const OperatorFacts& OperatorTable::of(const c10::OperatorHandle& op) {
  const auto [found, fresh] = known_.try_emplace(op.operator_name());
  OperatorFacts& facts = found->second;
  if (!fresh) return facts;
  const std::string& plain = op.operator_name().name;
  facts.name = c10::toString(op.operator_name());
  facts.decompositions = decompositions_for(target_, facts.name);
  facts.geometry = find_geometry(facts.name);
  for (const std::string_view name : kReadsData) facts.reads_data |= name == plain;
  if (facts.name == "aten::repeat_interleave.self_int") facts.reads_data = false;
  facts.factory_with_size = plain == "aten::arange" || plain == "aten::linspace" ||
                            plain == "aten::eye" || plain == "aten::tril_indices" ||
                            plain == "aten::triu_indices" || plain == "aten::range";
  facts.copies = plain == "aten::_to_copy" || plain == "aten::copy_";
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "dtype") facts.dtype_argument = i;
  }
  return facts;
}

}  // namespace elixir::capture
