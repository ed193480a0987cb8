// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Line-by-line comparison of two captured programs, for tests.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/capture.h"
#include "core/error.h"
#include "models.h"
#include "program/canonical.h"
#include "program/program.h"

namespace elixir::capture {

/// Everything that the fingerprint covers, as lines a person can read.
inline std::vector<std::string> lines_of(const program::Program& program) {
  std::vector<std::string> lines;
  for (const program::Operator& call : program.operators) {
    lines.push_back(program::canonical_text(call));
  }
  const auto add = [&](std::string head, const program::TensorRef& tensor) {
    program::append_canonical(head, tensor);
    lines.push_back(head);
  };
  for (const program::Parameter& parameter : program.parameters) {
    add("parameter " + parameter.name + " ", parameter.tensor);
    if (parameter.gradient) add("gradient " + parameter.name + " ", *parameter.gradient);
  }
  for (const program::Buffer& buffer : program.buffers) {
    add("buffer " + buffer.name + (buffer.mutated ? " mutated " : " "), buffer.tensor);
  }
  for (const program::Input& input : program.inputs) add("input " + input.name + " ", input.tensor);
  add("loss ", program.loss);
  for (const program::Storage& storage : program.storages) {
    lines.push_back("storage " + std::to_string(storage.id) + " " + std::to_string(storage.bytes) +
                    " " + std::string(program::name_of(storage.category)) + " " +
                    storage.content_digest + (storage.on_host ? " host" : ""));
  }
  return lines;
}

/// Storages allocated or freed at another place, one line each.
inline std::vector<std::string> lifetime_lines(const program::Program& program) {
  std::vector<std::string> lines;
  for (const program::Storage& storage : program.storages) {
    lines.push_back("storage " + std::to_string(storage.id) + " from " +
                    std::to_string(storage.allocated_at) + " to " +
                    std::to_string(storage.freed_after));
  }
  return lines;
}

/// "" when equal, else the number of differing lines and the first few of them.
inline std::string difference(const std::vector<std::string>& meta,
                              const std::vector<std::string>& real) {
  constexpr int kShown = 6;
  constexpr std::size_t kContext = 3;
  const std::size_t count = std::max(meta.size(), real.size());
  std::string text;
  int differing = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string a = i < meta.size() ? meta[i] : "(nothing)";
    const std::string b = i < real.size() ? real[i] : "(nothing)";
    if (a == b) continue;
    for (std::size_t j = i < kContext ? 0 : i - kContext; differing == 0 && j < i; ++j) {
      text += "  both " + meta[j] + "\n";
    }
    if (differing++ < kShown) {
      text += "line " + std::to_string(i) + "\n  meta " + a + "\n  real " + b + "\n";
    }
  }
  return differing == 0 ? "" : std::to_string(differing) + " lines differ\n" + text;
}

struct ModelCase {
  std::string name, dtype;
};

/// Every model family in every precision, and one with frozen, tied and unused parameters.
inline std::vector<ModelCase> model_cases() {
  std::vector<ModelCase> cases;
  for (const char* name : {"gpt2",
                           "opt",
                           "llama",
                           "llama-eager",
                           "bert",
                           "t5",
                           "vit",
                           "resnet50",
                           "convnext",
                           "lstm",
                           "control-flow",
                           "attentions",
                           "wide-heads",
                           "transformer",
                           "convolutions",
                           "norms",
                           "poolings",
                           "sampling",
                           "activations",
                           "losses",
                           "unet",
                           "recommendation",
                           "mixture-of-experts",
                           "recurrent",
                           "tensor-work",
                           "signals"}) {
    for (const char* dtype : {"float32", "bfloat16", "float16"}) cases.push_back({name, dtype});
  }
  cases.push_back({"frozen", "float32"});
  return cases;
}

inline std::string name_of_case(const testing::TestParamInfo<ModelCase>& info) {
  std::string name = info.param.name + "_" + info.param.dtype;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

inline Options options_of(const ModelCase& model, const program::Target& target) {
  Options options;
  options.target = target;
  options.inputs = inputs_of(model.name, model.dtype);
  return options;
}

/// Message, notes and help as one text.
inline std::string text_of(const Error& error) {
  std::string text = error.info().message;
  for (const std::string& note : error.info().notes) text += "\n  = note: " + note;
  for (const std::string& help : error.info().help) text += "\n  = help: " + help;
  return text;
}

inline void expect_meta_equals_device(const ModelCase& model_case, const program::Target& target) {
  const Model model = Model::load(test_model(model_case.name, model_case.dtype));
  const Options options = options_of(model_case, target);
  Captured meta;
  Captured real;
  try {
    real = capture_on_device(model, options);
    meta = capture(model, options);
  } catch (const Error& error) {
    FAIL() << text_of(error);
  }
  EXPECT_GT(meta.program.operators.size(), 30U);
  const std::string lines = difference(lines_of(meta.program), lines_of(real.program));
  ASSERT_TRUE(lines.empty()) << lines;
  EXPECT_EQ(difference(lifetime_lines(meta.program), lifetime_lines(real.program)), "");
  EXPECT_EQ(program::fingerprint(meta.program), program::fingerprint(real.program));
  EXPECT_EQ(meta.unattributed_operators, 0);
}

}  // namespace elixir::capture
