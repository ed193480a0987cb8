// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "scratch_labels.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "operators/convolution/convolution.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/evidence/known_without_scratch.h"

namespace elixir::capture {
namespace {

using operators::ScriptRuleKind;

/// "`add.Tensor` `relu`": without LibTorch's namespace.
std::string listed(const std::set<std::string_view>& names) {
  constexpr std::string_view kNamespace = "aten::";
  std::string text;
  for (std::string_view name : names) {
    if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
    text += (text.empty() ? "`" : " `") + std::string(name) + "`";
  }
  return text;
}

std::set<std::string_view> ruled(ScriptRuleKind kind) {
  std::set<std::string_view> names;
  for (const std::string_view name : operators::ruled_operators()) {
    if (operators::rule_of(name) == kind) names.insert(name);
  }
  return names;
}

/// With an entry in the table of recorded forms, and without a rule.
std::set<std::string_view> recorded() {
  std::set<std::string_view> names;
  for (const std::string_view form : operators::kRecordedForms) {
    const std::string_view name = form.substr(0, form.find('('));
    if (!operators::rule_of(name)) names.insert(name);
  }
  return names;
}

/// Tried, without a rule, and not exact by LibTorch's source.
std::set<std::string_view> tried() {
  const auto by_source = operators::names_without_scratch_by_source();
  const auto is_by_source = [&](std::string_view name) {
    return std::binary_search(by_source.begin(), by_source.end(), name);
  };
  std::set<std::string_view> names;
  for (const operators::TriedOperator& entry : operators::kTriedOperators) {
    const std::string_view base = entry.name.substr(0, entry.name.find('.'));
    if (operators::rule_of(base) || is_by_source(entry.name) || is_by_source(base)) continue;
    names.insert(entry.name);
  }
  return names;
}

std::string row(std::string_view label, const std::set<std::string_view>& names) {
  return "| " + std::string(label) + " | " + listed(names) + " |\n";
}

}  // namespace

std::string scratch_section() {
  std::set<std::string_view> by_source;
  for (const std::string_view name : operators::names_without_scratch_by_source()) {
    if (!operators::rule_of(name.substr(0, name.find('.')))) by_source.insert(name);
  }
  std::set<std::string_view> convolutions, other_library_calls;
  for (const std::string_view name : operators::library_calls()) {
    const bool is_convolution = operators::is_convolution({.name = std::string(name)});
    (is_convolution ? convolutions : other_library_calls).insert(name);
  }
  return "## Scratch memory\n\n"
         "A call may ask the CUDA allocator for memory beside its results. The table says how that "
         "is known\n"
         "([design/memory.md](design/memory.md#where-a-number-comes-from)). Every operator that it "
         "does not name is **modelled**:\n"
         "nobody has looked at it, and 0 bytes are known. So are calls of a named operator that "
         "its rule is not sure of, or whose\n"
         "form was not recorded. A call whose tensors are all on the host is exact. On a GPU other "
         "than sm_90, every call that makes\n"
         "or writes anything on it is modelled.\n\n"
         "| scratch memory | operators |\n"
         "| --- | --- |\n" +
         row("exact, by rule", ruled(ScriptRuleKind::kOfSource)) +
         row("exact by rule where the form was recorded, else modelled",
             ruled(ScriptRuleKind::kNeedsRecord)) +
         row("exact: none, by LibTorch's source; views always, others but for complex numbers",
             by_source) +
         row("exact: none, where the form was recorded, else modelled", recorded()) +
         (operators::kTriedOperators.empty()
              ? ""
              : row("exact: none, by random calls (" + std::string(operators::kTriedOn) +
                        "), for the dtypes and up to the sizes that were tried",
                    tried())) +
         row("measured: formulas, else modelled", ruled(ScriptRuleKind::kMeasured)) +
         row("measured: depthwise ones that LibTorch runs itself, those in `profiles/workspaces`, "
             "and "
             "those that cuDNN was asked about on such a GPU; else modelled: as cuDNN names it "
             "without a GPU, or guessed",
             convolutions) +
         row("measured: calls in `profiles/workspaces`, else modelled", other_library_calls) +
         row("modelled, by rule", ruled(ScriptRuleKind::kEstimate));
}

}  // namespace elixir::capture
