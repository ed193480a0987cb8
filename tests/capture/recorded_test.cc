// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Programs captured on meta for CUDA have the same lines as captures with real tensors on an NVIDIA
// H200 (LibTorch 2.11.0, CUDA 13.0), where a rule depends on the device. Each line of the recording
// has model, dtype, position and text. tests/gpu compares whole programs.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "difference.h"
#include "equality.h"

namespace elixir::capture {
namespace {

struct Recorded {
  std::size_t position = 0;
  std::string text;
};
using Recording = std::map<std::pair<std::string, std::string>, std::vector<Recorded>>;

Recording read_recording() {
  std::ifstream file(ELIXIR_RECORDED_CALLS);
  Recording recording;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string model;
    std::string dtype;
    Recorded entry;
    words >> model >> dtype >> entry.position;
    std::getline(words >> std::ws, entry.text);
    recording[{model, dtype}].push_back(std::move(entry));
  }
  return recording;
}

/// Ignores blanks at the ends of lines, because an editor may have removed them.
std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

TEST(RecordedCalls, AreThoseCapturedForCuda) {
  const Recording recording = read_recording();
  EXPECT_GT(recording.size(), 10U);
  const program::Target cuda = *program::Target::parse("cuda:sm_90");
  for (const auto& [model, entries] : recording) {
    const ModelCase each{model.first, model.second};
    const Captured captured =
        capture(Model::load(test_model(each.name, each.dtype)), options_of(each, cuda));
    const std::vector<std::string> lines = lines_of(captured.program);
    for (const Recorded& entry : entries) {
      ASSERT_LT(entry.position, lines.size()) << each.name << " " << each.dtype;
      EXPECT_EQ(trimmed(lines[entry.position]), trimmed(entry.text))
          << each.name << " " << each.dtype << ", line " << entry.position;
    }
  }
}

/// CUDA has no kernel for the gradient of maxima in bfloat16. The capture reports it early.
TEST(RecordedCalls, WhatCudaRefusesIsRefused) {
  const ModelCase each{"recommendation", "bfloat16"};
  const Model model = Model::load(test_model(each.name, each.dtype));
  try {
    static_cast<void>(capture(model, options_of(each, *program::Target::parse("cuda:sm_90"))));
    FAIL() << "captured";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kModelRejectsInput);
    EXPECT_EQ(error.info().message,
              "backward fails at aten::_embedding_bag_backward in module 'bags.2': "
              "\"embedding_bag_backward_cuda_max\" not implemented for 'BFloat16'");
  }
  EXPECT_NO_THROW(
      static_cast<void>(capture(model, options_of(each, *program::Target::parse("cpu")))));
}

}  // namespace
}  // namespace elixir::capture
