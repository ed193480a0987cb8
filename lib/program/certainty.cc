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

Json to_json(const std::vector<LabelledOperator>& operators) {
  Json list = Json::array();
  for (const LabelledOperator& op : operators) {
    Json modules = Json::array();
    for (const ModuleCalls& module : op.modules) {
      modules.push_back({{"path", module.path}, {"calls", module.calls}});
    }
    list.push_back({{"name", op.name},
                    {"calls", op.calls},
                    {"known_bytes", op.known_bytes},
                    {"modules", std::move(modules)}});
  }
  return list;
}

/// "one of 40 calls takes", "2 of 40 calls take"; `verb` is the plural.
std::string some_calls(std::int64_t count, std::int64_t all, std::string_view verb) {
  return count == 1
             ? fmt::format("one of {} calls {}s", format_count(all), verb)
             : fmt::format("{} of {} calls {}", format_count(count), format_count(all), verb);
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
  const MayBeOff& off = certainty.may_be_off;
  return {{"exact_calls", certainty.exact_calls},
          {"measured_calls", certainty.measured_calls},
          {"modelled_calls", certainty.modelled_calls},
          {"measured_operators", to_json(certainty.measured_operators)},
          {"modelled_operators", to_json(certainty.modelled_operators)},
          {"modelled_bytes_at_peak", certainty.modelled_bytes_at_peak},
          {"may_be_off",
           {{"peak_allocated_bytes", value_or_null(off.allocated_bytes)},
            {"peak_reserved_bytes", value_or_null(off.reserved_bytes)},
            {"process_peak_bytes", value_or_null(off.process_bytes)}}},
          {"reasons", certainty.reasons}};
}

std::string list_of(const std::vector<LabelledOperator>& operators, std::size_t most) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most, operators.size()); ++i) {
    const LabelledOperator& op = operators[i];
    parts.push_back(op.calls == 1 ? op.name
                                  : fmt::format("{} ({})", op.name, format_count(op.calls)));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (operators.size() > most) text += fmt::format(" and {} more", operators.size() - most);
  return text;
}

std::string off_text(const std::optional<std::int64_t>& may_be_off_bytes) {
  return may_be_off_bytes ? fmt::format("it may be off by {}", format_bytes(*may_be_off_bytes))
                          : "how far off it may be is not known";
}

std::string text_of(const Certainty& certainty) {
  switch (certainty.basis()) {
    case Basis::kExact:
      return "exact, workspaces included";
    case Basis::kMeasured:
      return fmt::format("measured: {} the workspace that a library names, the rest is exact",
                         some_calls(certainty.measured_calls, certainty.calls(), "take"));
    case Basis::kModelled:
      break;
  }
  return fmt::format("modelled: {} {} of it; {}",
                     some_calls(certainty.modelled_calls, certainty.calls(), "hold"),
                     format_bytes(certainty.modelled_bytes_at_peak),
                     off_text(certainty.may_be_off.allocated_bytes));
}

}  // namespace elixir::program
