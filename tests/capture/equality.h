// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares programs captured on meta with programs captured on real tensors, for tests.

#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "capture/capture.h"
#include "core/error.h"
#include "difference.h"
#include "models.h"
#include "program/canonical.h"
#include "program/program.h"

namespace elixir::capture {

struct ModelCase {
  std::string name, dtype;
};
/// How GoogleTest prints a case.
inline void PrintTo(const ModelCase& model, std::ostream* out) {
  *out << model.name << " " << model.dtype;
}

/// Every model family in every precision, and one with frozen, tied and unused parameters.
inline std::vector<ModelCase> model_cases() {
  std::vector<ModelCase> cases;
  for (const char* name :
       {"gpt2",         "opt",         "llama",        "llama-eager",      "bert",
        "t5",           "vit",         "resnet50",     "convnext",         "lstm",
        "control-flow", "attentions",  "wide-heads",   "attention-shapes", "transformer",
        "convolutions", "norms",       "frozen-norms", "poolings",         "sampling",
        "activations",  "losses",      "unet",         "recommendation",   "mixture-of-experts",
        "recurrent",    "tensor-work", "signals"}) {
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

/// The program, or the reason why there is none.
inline std::variant<Captured, std::string> capture_or_refusal(
    const ModelCase& model_case,
    const program::Target& target,
    Captured (*capture_with)(const Model&, const Options&)) {
  try {
    const Model model = Model::load(test_model(model_case.name, model_case.dtype));
    return capture_with(model, options_of(model_case, target));
  } catch (const Error& error) {
    return text_of(error);
  }
}

/// The capture must refuse what the device refuses, with the same message.
inline void expect_meta_equals_device(const ModelCase& model_case,
                                      const program::Target& target,
                                      bool device_refuses = false) {
  const auto on_device = capture_or_refusal(model_case, target, &capture_on_device);
  const auto on_meta = capture_or_refusal(model_case, target, &capture);
  const auto* refusal = std::get_if<std::string>(&on_device);
  ASSERT_EQ(refusal != nullptr, device_refuses) << (refusal == nullptr ? "" : *refusal);
  const auto* on_meta_refusal = std::get_if<std::string>(&on_meta);
  ASSERT_EQ(on_meta_refusal != nullptr, device_refuses)
      << (on_meta_refusal == nullptr ? "" : *on_meta_refusal);
  if (refusal != nullptr) {
    EXPECT_EQ(*on_meta_refusal, *refusal);
    return;
  }
  const Captured& meta = std::get<Captured>(on_meta);
  const Captured& real = std::get<Captured>(on_device);
  EXPECT_GT(meta.program.operators.size(), 30U);
  EXPECT_EQ(difference(lines_of(meta.program), lines_of(real.program)), "");
  EXPECT_EQ(meta.unattributed_operators, 0);
  // If the calls differ, places in them are meaningless.
  if (meta.program.operators.size() != real.program.operators.size()) return;
  EXPECT_EQ(difference(lifetime_lines(meta.program), lifetime_lines(real.program)), "");
  EXPECT_EQ(program::fingerprint(meta.program), program::fingerprint(real.program));
}

}  // namespace elixir::capture
