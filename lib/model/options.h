// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/model: a model file, seen from outside the process that reads it: what is asked of that
// process, what it answers, and how answers are checked. No LibTorch.
// Here: what a capture is asked for.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::model {

struct InputSpec {
  std::string name;
  program::DType dtype = program::DType::kInt64;
  std::vector<std::int64_t> sizes;
  /// "input_ids:int64[2,128]"; nullopt when malformed.
  static std::optional<InputSpec> parse(const std::string& text);
};

struct Options {
  program::Target target;         ///< `cpu` without an instruction set: that of this machine
  std::vector<InputSpec> inputs;  ///< empty: use the archive's traced_inputs
  std::optional<std::int64_t>
      batch;  ///< replaces dimension 0 of inputs with the same dimension 0 as the first
  program::Precision precision = program::Precision::kAsSaved;
  program::Mode mode = program::Mode::kAsSaved;
  std::string loss;  ///< "" (forward returns it), "cross-entropy", "mse"
  bool backward = true;
};

}  // namespace elixir::model
