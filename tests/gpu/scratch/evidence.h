// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What random calls of one operator showed. Parts of the evidence on one operator add up, so that a
// process which a call ended loses only its last part.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace elixir::tests {

/// A labelled call that asked for other memory than predicted.
struct Mismatch {
  std::string label, kind, arguments, predicted, seen;
};

struct Evidence {
  std::string op;                                      ///< "aten::add.Tensor"
  std::int64_t drawn = 0;                              ///< with those that LibTorch refused
  std::int64_t calls = 0;                              ///< that ran
  std::string refusal;                                 ///< LibTorch's first one
  std::int64_t exact = 0, measured = 0, modelled = 0;  ///< calls by label
  std::int64_t other_sizes = 0, other_peak = 0, other_order = 0;  ///< of exact and measured calls
  std::vector<Mismatch> mismatches;                               ///< the first few
  std::int64_t without_scratch = 0;                               ///< of all calls
  std::int64_t modelled_without_scratch = 0, modelled_as_predicted = 0;
  std::set<std::int64_t> scratch_bytes;  ///< of single requests, the first few sizes
  std::int64_t largest_scratch_bytes = 0;
  std::int64_t largest_elements = 0;                    ///< of one tensor among the arguments
  std::map<std::string, std::int64_t> dtypes, layouts;  ///< of the first tensor
  std::vector<std::string> faults;                      ///< how calls ended their process

  void add_mismatch(Mismatch mismatch);
  void add_scratch(std::int64_t bytes);
  void add(const Evidence& part);
};

void to_json(nlohmann::json& json, const Evidence& evidence);
void from_json(const nlohmann::json& json, Evidence& evidence);

}  // namespace elixir::tests
