// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares sizes of cuDNN's recurrent layers with those from GPUs (ELIXIR_RECORDED_LAYERS: the
// unpacked files), every one to the byte:
//   rnn-*.json     results of `_cudnn_rnn` and its workspace, by scripts/recording/record_rnn.py
//   passes-*.json  what forward, backward and inference take, by record_rnn_passes.py
//   asked-*.csv    answers of cuDNN for each of its algorithms, by ask_rnn.py
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "operators/cudnn_rnn.h"

namespace elixir::operators {
namespace {

using program::DType;
using Pass = operators::CudnnRnn::Pass;

/// The files with that prefix, sorted by name.
std::vector<std::filesystem::path> recorded_files(std::string_view prefix) {
  const char* directory = std::getenv("ELIXIR_RECORDED_LAYERS");
  if (directory == nullptr) return {};
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with(prefix)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

operators::CudnnRnn recorded_rnn(const JsonCursor& row) {
  static const std::map<std::string, operators::CudnnRnn::Mode> kModes = {
      {"relu", operators::CudnnRnn::Mode::kRelu},
      {"tanh", operators::CudnnRnn::Mode::kTanh},
      {"lstm", operators::CudnnRnn::Mode::kLstm},
      {"gru", operators::CudnnRnn::Mode::kGru}};
  static const std::map<std::string, DType> kTypes = {{"float32", DType::kFloat32},
                                                      {"float64", DType::kFloat64},
                                                      {"bfloat16", DType::kBFloat16},
                                                      {"float16", DType::kFloat16}};
  return {.mode = kModes.at(row.at("mode").string()),
          .dtype = kTypes.at(row.at("dtype").string()),
          .layers = row.at("layers").integer(),
          .directions = row.at("directions").integer(),
          .steps = row.at("steps").integer(),
          .batch = row.at("batch").integer(),
          .input_width = row.at("input").integer(),
          .hidden_width = row.at("hidden").integer(),
          .projection_width = row.at("projection").integer(),
          .has_dropout = row.at("dropout").number() > 0};
}

std::vector<std::int64_t> integers(const JsonCursor& list) {
  std::vector<std::int64_t> values;
  for (const JsonCursor& value : list.items()) values.push_back(value.integer());
  return values;
}

TEST(RecordedCudnnRnn, EveryRowToTheByte) {
  int rows = 0;
  for (const auto& path : recorded_files("rnn-")) {
    const auto document = JsonDocument::load(path.string());
    for (const JsonCursor& row : document->root().at("rows").items()) {
      if (row.has("error")) continue;
      SCOPED_TRACE(row.raw().dump());
      ++rows;
      const operators::CudnnRnn rnn = recorded_rnn(row);
      EXPECT_TRUE(rnn.is_exact());
      EXPECT_EQ(rnn.weight_elements(), row.at("weight_elements").integer());
      EXPECT_EQ(rnn.reserve_bytes(), row.at("reserve_bytes").integer());
      // Freed while the results exist: the workspace in the call, then the last hidden state.
      const std::int64_t state = rnn.layers * rnn.directions * rnn.batch * rnn.recurrent_width();
      const std::vector<std::int64_t> temporaries = {rnn.workspace_bytes(Pass::kForward),
                                                     state * element_bytes(rnn.dtype)};
      EXPECT_EQ(integers(row.at("workspace_bytes")), temporaries);
    }
  }
  EXPECT_GE(rows, 2172) << "ELIXIR_RECORDED_LAYERS";
}

// Backward takes the workspace twice: for the gradients of the inputs, then for those of the
// weights. The algorithm can be another one than that of forward.
TEST(RecordedCudnnRnn, EveryPassTakesTheWorkspaceOfItsAlgorithm) {
  struct Recorded {
    const char* name;
    Pass pass;
    int workspaces;
  };
  std::map<operators::CudnnRnn::Algorithm, int> rows;
  for (const auto& path : recorded_files("passes-")) {
    const auto document = JsonDocument::load(path.string());
    for (const JsonCursor& row : document->root().at("rows").items()) {
      SCOPED_TRACE(row.raw().dump());
      const operators::CudnnRnn rnn = recorded_rnn(row);
      EXPECT_TRUE(rnn.is_exact());
      for (const Recorded& recorded : {Recorded{"forward", Pass::kForward, 1},
                                       Recorded{"backward", Pass::kBackward, 2},
                                       Recorded{"inference", Pass::kInference, 1}}) {
        if (!row.has(recorded.name)) continue;
        ++rows[rnn.algorithm(recorded.pass)];
        const auto freed = integers(row.at(recorded.name));
        EXPECT_EQ(std::count(freed.begin(), freed.end(), rnn.workspace_bytes(recorded.pass)),
                  recorded.workspaces)
            << recorded.name;
      }
    }
  }
  EXPECT_GE(rows[operators::CudnnRnn::Algorithm::kStandard], 1800) << "ELIXIR_RECORDED_LAYERS";
  EXPECT_GE(rows[operators::CudnnRnn::Algorithm::kSmallHiddenState], 900);
  EXPECT_GE(rows[operators::CudnnRnn::Algorithm::kPersistent], 150);
}

/// A line of numbers. Those that overflowed in cuDNN are too large for a signed integer.
std::array<std::uint64_t, 15> numbers(const std::string& line) {
  std::array<std::uint64_t, 15> values{};
  std::istringstream text(line);
  std::string value;
  for (std::uint64_t& number : values) {
    if (std::getline(text, value, ',')) number = std::stoull(value);
  }
  return values;
}

operators::CudnnRnn asked_rnn(const std::array<std::uint64_t, 15>& line) {
  static const std::map<std::uint64_t, DType> kTypes = {
      {0, DType::kFloat32}, {1, DType::kFloat64}, {2, DType::kFloat16}, {9, DType::kBFloat16}};
  const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(line.at(i)); };
  return {.mode = static_cast<operators::CudnnRnn::Mode>(line[1]),
          .dtype = kTypes.at(line[2]),
          .layers = number(3),
          .directions = number(4),
          .steps = number(5),
          .batch = number(6),
          .input_width = number(7),
          .hidden_width = number(8),
          .projection_width = number(9),
          .has_dropout = line[10] > 0};
}

TEST(RecordedCudnnRnn, EveryAnswerToTheByte) {
  int answers = 0, estimates = 0;
  for (const auto& path : recorded_files("asked-")) {
    std::ifstream file(path);
    std::string line;
    for (std::getline(file, line); std::getline(file, line);) {
      SCOPED_TRACE(line);
      const auto asked = numbers(line);
      const operators::CudnnRnn rnn = asked_rnn(asked);
      const auto algorithm = static_cast<operators::CudnnRnn::Algorithm>(asked[0]);
      if (!rnn.is_exact()) {
        ++estimates;
        continue;
      }
      ++answers;
      const auto answer = [&](std::size_t i) {
        return static_cast<std::int64_t>(asked.at(11 + i));
      };
      EXPECT_EQ(rnn.weight_elements() * element_bytes(rnn.dtype), answer(0));
      EXPECT_EQ(rnn.workspace_bytes(Pass::kForward, algorithm), answer(1));
      EXPECT_EQ(rnn.workspace_bytes(Pass::kBackward, algorithm), answer(1));
      EXPECT_EQ(rnn.reserve_bytes(), answer(2));
      if (rnn.has_dropout) continue;  // it is off in LibTorch's inference, but it was asked for
      EXPECT_EQ(rnn.workspace_bytes(Pass::kInference, algorithm), answer(3));
    }
  }
  EXPECT_GE(answers, 5900) << "ELIXIR_RECORDED_LAYERS";
  EXPECT_LE(estimates, 20) << "more weights than cuDNN counts, or a projection of full width";
}

}  // namespace
}  // namespace elixir::operators
