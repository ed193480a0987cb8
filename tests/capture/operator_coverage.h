// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which of LibTorch's operators a capture can follow: lists every operator with a derivative, or
// that a derivative may call, and the source of its geometry.

#include <string>
#include <vector>

namespace elixir::capture {

enum class Coverage {
  kRule,       ///< one of our geometry rules
  kMeta,       ///< LibTorch's own Meta kernel
  kComposite,  ///< LibTorch composes it below autograd: covered when its parts are
  kNone,
};

struct OperatorRow {
  std::string name;     ///< "index_select", "where.self"
  bool differentiable;  ///< has a formula of its own in LibTorch's derivatives.yaml
  Coverage coverage;
  std::string why_not;  ///< for kNone: "" when nothing but a rule is missing
};

/// The rows of all operators of LibTorch, sorted by name. Without operators with out arguments,
/// which autograd refuses, and without composites above autograd.
[[nodiscard]] std::vector<OperatorRow> operator_rows(const std::string& derivatives_yaml);

/// Formats the rows as docs/operators.md.
[[nodiscard]] std::string operator_page(const std::vector<OperatorRow>& rows);

}  // namespace elixir::capture
