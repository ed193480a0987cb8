// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/certainty.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace elixir::program {
namespace {

std::string calls_text(std::int64_t count, std::string_view kind) {
  return count == 1 ? fmt::format("one {} call", kind)
                    : fmt::format("{} {} calls", format_count(count), kind);
}

}  // namespace

std::string_view name_of(Basis basis) {
  switch (basis) {
    case Basis::kExact:
      return "exact";
    case Basis::kMeasured:
      return "measured";
    case Basis::kModelled:
      return "modelled";
  }
  return "";
}

Basis Certainty::basis() const {
  if (modelled_calls > 0) return Basis::kModelled;
  return measured_calls > 0 ? Basis::kMeasured : Basis::kExact;
}

Json to_json(const Certainty& certainty) {
  Json operators = Json::array();
  for (const ModelledOperator& op : certainty.modelled_operators) {
    operators.push_back({{"name", op.name}, {"calls", op.calls}, {"known_bytes", op.known_bytes}});
  }
  return {{"exact_calls", certainty.exact_calls},
          {"measured_calls", certainty.measured_calls},
          {"modelled_calls", certainty.modelled_calls},
          {"modelled_operators", std::move(operators)},
          {"modelled_bytes_at_peak", certainty.modelled_bytes_at_peak}};
}

std::string list_of(const std::vector<ModelledOperator>& operators, std::size_t most) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most, operators.size()); ++i) {
    const ModelledOperator& op = operators[i];
    parts.push_back(op.calls == 1 ? op.name
                                  : fmt::format("{} ({})", op.name, format_count(op.calls)));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (operators.size() > most) text += fmt::format(" and {} more", operators.size() - most);
  return text;
}

std::string text_of(const Certainty& certainty) {
  switch (certainty.basis()) {
    case Basis::kExact:
      return "exact, workspaces included";
    case Basis::kMeasured:
      return fmt::format("exact, the workspaces of {} as measured",
                         certainty.measured_calls == 1
                             ? std::string("one call")
                             : format_count(certainty.measured_calls) + " calls");
    case Basis::kModelled:
      break;
  }
  const std::string text =
      fmt::format("exact but for {}", calls_text(certainty.modelled_calls, "modelled"));
  if (certainty.modelled_bytes_at_peak == 0) return text + ": 0 known at the peak, may be more";
  return fmt::format(
      "{}: about {} at the peak", text, format_bytes(certainty.modelled_bytes_at_peak));
}

}  // namespace elixir::program
