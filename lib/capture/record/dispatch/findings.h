// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a capture has to tell at its end: why it failed, which operators lack a rule, hints.

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace elixir::capture {

/// An operator without a geometry rule.
struct MissingKernel {
  std::string op, place;
};

class Findings {
 public:
  /// Keeps the first failure: TorchScript and autograd wrap exceptions on their way out.
  void keep_failure(const Error& error);
  /// LibTorch's, of the first failing call of `op`.
  void keep_message(const std::string& op, const std::string& text);
  void add_missing(const std::string& op, const std::string& place);
  /// A known hint about a call, told once with the first place and the number of calls.
  void hint(const std::string& text, const std::string& place);

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// "" when there is none.
  [[nodiscard]] const std::string& message() const { return message_; }
  /// The operator that the message is of; "" when there is none.
  [[nodiscard]] const std::string& refused_operator() const { return refused_operator_; }
  [[nodiscard]] const std::vector<MissingKernel>& missing() const { return missing_; }
  [[nodiscard]] std::vector<std::string> hints() const;

 private:
  struct Hint {
    std::string text, place;
    int calls = 0;
  };
  std::optional<Error> failure_;
  std::string message_, refused_operator_;
  std::vector<MissingKernel> missing_;
  std::vector<Hint> hints_;
};

}  // namespace elixir::capture
