// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What one fused operator (kFused) computes: a list of steps over one common shape. Each step makes
// one value for each element, or one for each row (along the last dimension). Values are fp32 and
// are rounded only where they are stored. The text of a program is its canonical form: equal
// programs have equal texts, so measurements and compiled kernels go by it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elixir::operators {

struct FusedStep {
  enum class Kind : std::uint8_t {
    kInput,     ///< an element of a tensor: its number is the operand
    kConstant,  ///< `constant`
    kAdd,
    kSub,
    kMul,
    kDiv,
    kNeg,
    kSqrt,
    kRsqrt,
    kExp,
    kTanh,
    kErf,
    kPow,        ///< of two values
    kLessEqual,  ///< 1 or 0
    kWhere,      ///< the second or, where the first is 0, the third
    kSum,        ///< over the row
  };
  Kind kind = Kind::kConstant;
  std::array<std::int32_t, 3> operands{};  ///< steps before this one, or the number of the input
  double constant = 0;
  bool operator==(const FusedStep&) const = default;
};

/// The number of steps that a step of this kind reads; 0 for an input and a constant.
[[nodiscard]] int operand_count(FusedStep::Kind kind);
/// "mul", as in texts and in generated code.
[[nodiscard]] std::string_view name_of(FusedStep::Kind kind);

using FusedProgram = std::vector<FusedStep>;

/// "input 0;mul 0 0;sum 1;constant 0.5;…"
[[nodiscard]] std::string text_of(const FusedProgram& program);
/// nullopt for what text_of() does not write. At most kMostFusedSteps steps.
[[nodiscard]] std::optional<FusedProgram> parse_fused_program(std::string_view text);

inline constexpr std::size_t kMostFusedSteps = 256;
/// Inputs and results of one operator: their addresses are a kernel's arguments.
inline constexpr std::size_t kMostFusedTensors = 24;

/// One pass over a row. A sum is known after the pass that adds it up.
struct FusedPass {
  std::vector<std::int32_t> row_steps;      ///< once a row, before the pass
  std::vector<std::int32_t> element_steps;  ///< for each element
  std::vector<std::int32_t> sums;           ///< that this pass adds up
};

struct FusedPasses {
  /// By step: it has one value for each row.
  std::vector<bool> per_row;
  /// The last one makes what is stored.
  std::vector<FusedPass> passes;
};

/// How to run a program whose steps `stored` are results. `input_per_row`: by input, whether it has
/// one value for each row. nullopt when it sums what is per row, or names an input that is not
/// there.
[[nodiscard]] std::optional<FusedPasses> passes_of(const FusedProgram& program,
                                                   const std::vector<bool>& input_per_row,
                                                   const std::vector<std::int64_t>& stored);

}  // namespace elixir::operators
