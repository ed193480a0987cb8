// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Paths of the exported test models, and inputs for those that do not contain them.

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/capture.h"

namespace elixir::capture {

inline std::string test_model(const std::string& name, const std::string& dtype = "float32") {
  const char* directory = std::getenv("ELIXIR_TEST_MODELS");
  if (directory == nullptr) {
    throw std::runtime_error("set ELIXIR_TEST_MODELS to the output of tests/models/make_models.py");
  }
  return std::string(directory) + "/" + name + "-" + dtype + ".pt";
}

/// Scripted models contain no example inputs.
inline std::vector<InputSpec> inputs_of(const std::string& name, const std::string& dtype) {
  if (name == "control-flow") {
    return {*InputSpec::parse("x:" + dtype + "[2,32]"), *InputSpec::parse("labels:int64[2]")};
  }
  if (name == "branching" || name == "forked-list")
    return {*InputSpec::parse("x:" + dtype + "[2,8]")};
  return {};
}

}  // namespace elixir::capture
