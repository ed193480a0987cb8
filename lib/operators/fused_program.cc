// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/fused_program.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>

#include "core/name_table.h"

namespace elixir::operators {
namespace {

using Kind = FusedStep::Kind;

constexpr NameTable<Kind, 16> kKinds{{{Kind::kInput, "input"},
                                      {Kind::kConstant, "constant"},
                                      {Kind::kAdd, "add"},
                                      {Kind::kSub, "sub"},
                                      {Kind::kMul, "mul"},
                                      {Kind::kDiv, "div"},
                                      {Kind::kNeg, "neg"},
                                      {Kind::kSqrt, "sqrt"},
                                      {Kind::kRsqrt, "rsqrt"},
                                      {Kind::kExp, "exp"},
                                      {Kind::kTanh, "tanh"},
                                      {Kind::kErf, "erf"},
                                      {Kind::kPow, "pow"},
                                      {Kind::kLessEqual, "le"},
                                      {Kind::kWhere, "where"},
                                      {Kind::kSum, "sum"}}};

/// The part of `text` up to `separator`, which is cut off with it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The `position`-th step of a text.
std::optional<FusedStep> parse_step(std::string_view text, std::size_t position) {
  const auto kind = kKinds.named(cut(text, ' '));
  if (!kind) return std::nullopt;
  FusedStep step{.kind = *kind};
  if (step.kind == Kind::kConstant) {
    const auto constant = number<double>(text);
    if (!constant) return std::nullopt;
    step.constant = *constant;
    return step;
  }
  const bool is_input = step.kind == Kind::kInput;
  const std::size_t most = is_input ? kMostFusedTensors : position;
  const int count = is_input ? 1 : operand_count(step.kind);
  for (int i = 0; i < count; ++i) {
    const auto operand = number<std::int32_t>(cut(text, ' '));
    if (!operand || *operand < 0 || static_cast<std::size_t>(*operand) >= most) {
      return std::nullopt;
    }
    step.operands[i] = *operand;
  }
  if (!text.empty()) return std::nullopt;
  return step;
}

}  // namespace

int operand_count(Kind kind) {
  switch (kind) {
    case Kind::kInput:
    case Kind::kConstant:
      return 0;
    case Kind::kNeg:
    case Kind::kSqrt:
    case Kind::kRsqrt:
    case Kind::kExp:
    case Kind::kTanh:
    case Kind::kErf:
    case Kind::kSum:
      return 1;
    case Kind::kAdd:
    case Kind::kSub:
    case Kind::kMul:
    case Kind::kDiv:
    case Kind::kPow:
    case Kind::kLessEqual:
      return 2;
    case Kind::kWhere:
      return 3;
  }
  return 0;
}

std::string_view name_of(Kind kind) {
  return kKinds.name_of(kind);
}

std::string text_of(const FusedProgram& program) {
  std::string text;
  for (const FusedStep& step : program) {
    if (!text.empty()) text += ';';
    text += name_of(step.kind);
    if (step.kind == Kind::kConstant) text += fmt::format(" {}", step.constant);
    const int count = step.kind == Kind::kInput ? 1 : operand_count(step.kind);
    for (int i = 0; i < count; ++i) text += fmt::format(" {}", step.operands[i]);
  }
  return text;
}

std::optional<FusedProgram> parse_fused_program(std::string_view text) {
  FusedProgram program;
  while (!text.empty()) {
    if (program.size() == kMostFusedSteps) return std::nullopt;
    const auto step = parse_step(cut(text, ';'), program.size());
    if (!step) return std::nullopt;
    program.push_back(*step);
  }
  return program;
}

std::optional<FusedPasses> passes_of(const FusedProgram& program,
                                     const std::vector<bool>& input_per_row,
                                     const std::vector<std::int64_t>& stored) {
  FusedPasses result;
  result.per_row.resize(program.size(), true);
  std::vector<std::size_t> known(program.size(), 0);  // from which pass on
  std::size_t last = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const FusedStep& step = program[i];
    if (step.kind == Kind::kInput) {
      const auto input = static_cast<std::size_t>(step.operands[0]);
      if (input >= input_per_row.size()) return std::nullopt;
      result.per_row[i] = input_per_row[input];
      continue;
    }
    for (int k = 0; k < operand_count(step.kind); ++k) {
      const std::int32_t operand = step.operands[k];
      known[i] = std::max(known[i], known[operand]);
      if (!result.per_row[operand]) result.per_row[i] = false;
    }
    if (step.kind == Kind::kSum) {
      if (result.per_row[i]) return std::nullopt;
      result.per_row[i] = true;
      last = std::max(last, ++known[i]);
    }
  }
  result.passes.resize(last + 1);
  for (std::size_t pass = 0; pass <= last; ++pass) {
    FusedPass& now = result.passes[pass];
    std::vector<bool> wanted(program.size(), false);
    for (std::size_t i = 0; i < program.size(); ++i) {
      const bool is_sum = program[i].kind == Kind::kSum;
      if (is_sum && known[i] == pass + 1) {
        now.sums.push_back(static_cast<std::int32_t>(i));
        wanted[program[i].operands[0]] = true;
      } else if (!is_sum && result.per_row[i] && known[i] == pass) {
        now.row_steps.push_back(static_cast<std::int32_t>(i));
      }
    }
    for (const std::int64_t value : stored) {
      if (value < 0 || static_cast<std::size_t>(value) >= program.size()) return std::nullopt;
      if (pass == last) wanted[static_cast<std::size_t>(value)] = true;
    }
    for (std::size_t i = program.size(); i-- > 0;) {
      if (!wanted[i] || result.per_row[i]) continue;
      now.element_steps.push_back(static_cast<std::int32_t>(i));
      for (int k = 0; k < operand_count(program[i].kind); ++k) {
        wanted[program[i].operands[k]] = true;
      }
    }
    std::reverse(now.element_steps.begin(), now.element_steps.end());
  }
  return result;
}

}  // namespace elixir::operators
