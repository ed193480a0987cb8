// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "check/culprits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "program/names/alike.h"
#include "program/names/labels.h"

namespace elixir::check {
namespace {

using Values = std::map<std::string, std::int64_t>;

template <class Get>
Values modules(const CheckedDocument& document, Get get) {
  Values values;
  for (const memory::ModuleShare& module : document.attribution->modules) {
    values[program::module_label(module.path)] += get(module);
  }
  return values;
}

std::string name_in(const std::string& op, const std::string& module) {
  return fmt::format("{} in {}", op, program::module_label(module));
}

template <class Get>
Values operators(const CheckedDocument& document, Get get) {
  Values values;
  for (const memory::OperatorShare& op : document.attribution->operators) {
    values[name_in(op.name, op.module)] += get(op);
  }
  return values;
}

/// By operator and module, where the document says the module.
Values labelled_calls(const std::vector<program::LabelledOperator>& operators) {
  Values values;
  for (const program::LabelledOperator& op : operators) {
    std::int64_t rest = op.calls;
    for (const program::ModuleCalls& module : op.modules) {
      values[name_in(op.name, module.path)] += module.calls;
      rest -= module.calls;
    }
    if (rest > 0) values[op.name] += rest;
  }
  return values;
}

Values measured_calls(const CheckedDocument& document) {
  return document.certainty ? labelled_calls(document.certainty->measured_operators) : Values();
}

Values modelled_calls(const CheckedDocument& document) {
  return document.certainty ? labelled_calls(document.certainty->modelled_operators) : Values();
}

Values parts(const std::vector<PlanPart>& parts) {
  Values values;
  for (const PlanPart& part : parts) values[part.name] += part.value;
  return values;
}

std::int64_t size_of(const Culprit& culprit) {
  return culprit.value - culprit.before.value_or(0);
}

/// The entries with a value or growth above zero (`sign` -1: that shrank). Equal ones are joined.
/// Largest first, then by name.
std::vector<Culprit> largest(const std::vector<Culprit>& all, std::int64_t sign = 1) {
  using Key = std::tuple<std::string, std::int64_t, std::optional<std::int64_t>>;
  std::map<Key, Culprit> alike;
  for (const Culprit& culprit : all) {
    if (sign * size_of(culprit) <= 0) continue;
    const auto [found, is_first] = alike.try_emplace(
        Key(program::shape_of(culprit.name), culprit.value, culprit.before), culprit);
    if (is_first) continue;
    Culprit& group = found->second;
    group.name = program::common_name(group.name, culprit.name);
    ++group.count;
    group.value += culprit.value;
    if (group.before) *group.before += *culprit.before;
  }
  std::vector<Culprit> result;
  result.reserve(alike.size());
  for (auto& entry : alike) result.push_back(std::move(entry.second));
  std::sort(result.begin(), result.end(), [sign](const Culprit& a, const Culprit& b) {
    return size_of(a) != size_of(b) ? sign * size_of(a) > sign * size_of(b) : a.name < b.name;
  });
  if (result.size() > kMostCulprits) result.resize(kMostCulprits);
  return result;
}

class Finder {
 public:
  Finder(const CheckedDocument& document, const CheckedDocument* baseline)
      : document_(document), baseline_(baseline) {}

  /// Appends a list, unless it is empty or already present.
  template <class ValuesOf>
  void add(const std::string& what, Measure measure, const std::string& share, ValuesOf values_of) {
    for (const Culprits& list : found_) {
      if (list.what == what && list.share == share) return;
    }
    const Values now = values_of(document_);
    Culprits list{what, measure, share, false, {}, false};
    Culprits shrunk{what, measure, share, false, {}, true};
    if (baseline_ != nullptr) {
      const Values old = values_of(*baseline_);
      std::vector<Culprit> all;
      for (const auto& [name, value] : now) {
        const auto found = old.find(name);
        all.push_back({name, 1, value, found == old.end() ? 0 : found->second});
      }
      for (const auto& [name, value] : old) {
        if (now.find(name) == now.end()) all.push_back({name, 1, 0, value});
      }
      list.entries = largest(all);
      list.grown = !list.entries.empty();
      shrunk.entries = largest(all, -1);
    }
    if (list.entries.empty()) {
      std::vector<Culprit> all;
      for (const auto& [name, value] : now) all.push_back({name, 1, value, std::nullopt});
      list.entries = largest(all);
    }
    if (!list.entries.empty()) found_.push_back(std::move(list));
    if (!shrunk.entries.empty()) found_.push_back(std::move(shrunk));
  }

  std::vector<Culprits> take() { return std::move(found_); }

 private:
  const CheckedDocument& document_;
  const CheckedDocument* baseline_;
  std::vector<Culprits> found_;
};

void add_of_profile(Quantity quantity, Finder& finder) {
  switch (quantity) {
    case Quantity::kPeakAllocated:
    case Quantity::kPeakReserved:
    case Quantity::kProcess:
      finder.add("modules", Measure::kBytes, "at the peak", [](const CheckedDocument& document) {
        return modules(document, [](const auto& module) { return module.at_peak_bytes; });
      });
      finder.add("operators", Measure::kBytes, "at the peak", [](const CheckedDocument& document) {
        return operators(document,
                         [](const auto& op) { return op.at_peak_bytes + op.workspaces_bytes; });
      });
      break;
    case Quantity::kActivations:
      finder.add("modules", Measure::kBytes, "activations", [](const CheckedDocument& document) {
        return modules(document, [](const auto& module) { return module.activations_bytes; });
      });
      finder.add("operators", Measure::kBytes, "activations", [](const CheckedDocument& document) {
        return operators(document, [](const auto& op) { return op.activations_bytes; });
      });
      break;
    case Quantity::kParameters:
      finder.add("modules", Measure::kCount, "parameters", [](const CheckedDocument& document) {
        return modules(document, [](const auto& module) { return module.parameters; });
      });
      break;
    case Quantity::kMeasuredCalls:
      finder.add("operators", Measure::kCount, "measured calls", measured_calls);
      break;
    case Quantity::kModelledCalls:
      finder.add("operators", Measure::kCount, "modelled calls", modelled_calls);
      break;
    case Quantity::kHost:
    case Quantity::kStepTime:
      break;
  }
}

void add_of_plan(Quantity quantity, Finder& finder) {
  if (quantity == Quantity::kPeakAllocated) {
    finder.add("parts", Measure::kBytes, "at the peak", [](const CheckedDocument& document) {
      return parts(document.memory_parts);
    });
  } else if (quantity == Quantity::kStepTime) {
    finder.add("streams", Measure::kNanoseconds, "busy", [](const CheckedDocument& document) {
      return parts(document.streams);
    });
  }
}

}  // namespace

std::vector<Culprits> find_culprits(const CheckedDocument& document,
                                    const CheckedDocument* baseline,
                                    const std::vector<Quantity>& over) {
  Finder finder(document, baseline);
  for (const Quantity quantity : over) {
    if (document.kind == CheckedDocument::Kind::kProfile) {
      add_of_profile(quantity, finder);
    } else {
      add_of_plan(quantity, finder);
    }
  }
  return finder.take();
}

}  // namespace elixir::check
