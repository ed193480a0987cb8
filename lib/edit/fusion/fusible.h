// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which operators can be part of a fused one, and what each of them computes, step by step
// (operators/fused_program.h): elementwise operators, sums and means over the last dimension, and
// layer norms.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "operators/fused_program.h"
#include "program/program.h"

namespace elixir::edit {

/// Collects the steps of a fused operator. Equal steps are one.
class FusedSteps {
 public:
  using Kind = operators::FusedStep::Kind;
  std::int32_t add(Kind kind, std::int32_t a, std::int32_t b = 0, std::int32_t c = 0);
  std::int32_t constant(double value);
  [[nodiscard]] const operators::FusedProgram& program() const { return program_; }

 private:
  std::int32_t add(const operators::FusedStep& step);
  operators::FusedProgram program_;
};

/// The step that has the value of a tensor; -1: there is none.
using LoadTensor = std::function<std::int32_t(const program::TensorRef&)>;

/// Adds what `op` computes. By output: the step that has it, -1 for none. Empty: `op` cannot be
/// fused, or `load` returned -1.
[[nodiscard]] std::vector<std::int32_t> write_steps(const program::Operator& op,
                                                    FusedSteps& steps,
                                                    const LoadTensor& load);

/// The shape over which an operator that can be fused works; nullopt: it cannot be. Its tensors
/// broadcast to that shape with last stride 0 or 1, and its results are whole storages or written
/// in place.
[[nodiscard]] std::optional<program::Ints> fusible_shape(const program::Program& program,
                                                         const program::Operator& op);

/// The strides of a tensor broadcast to `shape`, 0 where nothing is stepped over; nullopt when it
/// does not broadcast to it, or its last stride is neither 0 nor 1.
[[nodiscard]] std::optional<program::Ints> strides_over(const program::TensorRef& tensor,
                                                        const program::Ints& shape);

}  // namespace elixir::edit
