// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/parameter_layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::runtime {

bool matches_glob(std::string_view text, std::string_view pattern) {
  // Greedy with one point to backtrack to: the last star, and how much text it has matched.
  std::size_t t = 0, p = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<ParameterLayout> lay_out_parameters(const program::Program& program,
                                                const plan::Plan& plan,
                                                const std::vector<std::string>& no_decay) {
  const std::vector<plan::Place> places = plan::locate_parameters(plan, program);
  std::vector<ParameterLayout> layouts;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const program::Parameter& parameter = program.parameters[i];
    if (parameter.tensor.offset != 0 ||
        program.storages.at(parameter.tensor.storage).bytes != parameter.tensor.bytes()) {
      throw Error(ErrorCode::kUnsupportedModel,
                  "parameter {} is a part of a larger storage, not one of its own",
                  parameter.name);
    }
    const auto is_exempt = [&](const std::string& name) {
      return std::any_of(no_decay.begin(), no_decay.end(), [&](const std::string& pattern) {
        return matches_glob(name, pattern);
      });
    };
    ParameterLayout layout;
    layout.chunk = places[i].chunk;
    layout.offset_bytes = places[i].offset_bytes;
    layout.first_element = places[i].offset_bytes / program::element_bytes(parameter.tensor.dtype);
    layout.elements = parameter.tensor.numel();
    layout.trained = parameter.gradient.has_value() && plan.optimizer != program::Optimizer::kNone;
    layout.decays = std::none_of(parameter.names.begin(), parameter.names.end(), is_exempt);
    layouts.push_back(layout);
  }
  return layouts;
}

}  // namespace elixir::runtime
