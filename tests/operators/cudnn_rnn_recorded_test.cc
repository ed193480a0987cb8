// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares sizes of cuDNN's recurrent layers with those that scripts/recording/record_rnn.py
// recorded on GPUs (ELIXIR_RECORDED_LAYERS: its unpacked files). Every row of the grid must match
// to the byte, exact or not. Of the randomly drawn layers, every one that is reported as exact must
// match.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "operators/cudnn_rnn.h"

namespace elixir::operators {
namespace {

using program::DType;

struct RecordedLayers {
  operators::CudnnRnn rnn;
  std::string shape;  ///< the row's text
  bool is_of_grid;
  std::int64_t weight_elements, reserve_bytes;
  std::vector<std::int64_t> temporaries;
};

constexpr const char* kGrid = "rnn-h200.json";

RecordedLayers recorded_layers(const JsonCursor& row, bool is_of_grid) {
  static const std::map<std::string, operators::CudnnRnn::Mode> kModes = {
      {"relu", operators::CudnnRnn::Mode::kRelu},
      {"tanh", operators::CudnnRnn::Mode::kTanh},
      {"lstm", operators::CudnnRnn::Mode::kLstm},
      {"gru", operators::CudnnRnn::Mode::kGru}};
  static const std::map<std::string, DType> kTypes = {
      {"float32", DType::kFloat32}, {"bfloat16", DType::kBFloat16}, {"float16", DType::kFloat16}};
  RecordedLayers recorded;
  recorded.shape = row.raw().dump();
  recorded.is_of_grid = is_of_grid;
  recorded.rnn = {.mode = kModes.at(row.at("mode").string()),
                  .dtype = kTypes.at(row.at("dtype").string()),
                  .layers = row.at("layers").integer(),
                  .directions = row.at("directions").integer(),
                  .steps = row.at("steps").integer(),
                  .batch = row.at("batch").integer(),
                  .input_width = row.at("input").integer(),
                  .hidden_width = row.at("hidden").integer(),
                  .projection_width = row.at("projection").integer(),
                  .has_dropout = row.at("dropout").number() > 0};
  recorded.weight_elements = row.at("weight_elements").integer();
  recorded.reserve_bytes = row.at("reserve_bytes").integer();
  for (const JsonCursor& bytes : row.at("workspace_bytes").items()) {
    recorded.temporaries.push_back(bytes.integer());
  }
  return recorded;
}

std::vector<RecordedLayers> all_recorded_layers() {
  const char* directory = std::getenv("ELIXIR_RECORDED_LAYERS");
  if (directory == nullptr) return {};
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<RecordedLayers> all;
  for (const std::filesystem::path& path : paths) {
    const auto document = JsonDocument::load(path.string());
    for (const JsonCursor& row : document->root().at("rows").items()) {
      if (!row.has("error")) all.push_back(recorded_layers(row, path.filename() == kGrid));
    }
  }
  return all;
}

TEST(RecordedCudnnRnn, EveryRowToTheByte) {
  const std::vector<RecordedLayers> all = all_recorded_layers();
  ASSERT_GE(all.size(), 2172U) << "ELIXIR_RECORDED_LAYERS";
  int drawn = 0;
  for (const RecordedLayers& recorded : all) {
    SCOPED_TRACE(recorded.shape);
    const operators::CudnnRnn& rnn = recorded.rnn;
    EXPECT_EQ(rnn.weight_elements(), recorded.weight_elements);
    if (!recorded.is_of_grid && !rnn.is_exact()) continue;
    drawn += recorded.is_of_grid ? 0 : 1;
    EXPECT_EQ(rnn.reserve_bytes(), recorded.reserve_bytes);
    // Freed while the results exist: the workspace in the call, then the last hidden state.
    ASSERT_EQ(recorded.temporaries.size(), 2U);
    EXPECT_EQ(rnn.workspace_bytes(operators::CudnnRnn::Pass::kForward), recorded.temporaries[0]);
    EXPECT_EQ(
        rnn.layers * rnn.directions * rnn.batch * rnn.recurrent_width() * element_bytes(rnn.dtype),
        recorded.temporaries[1]);
  }
  EXPECT_GE(drawn, 87) << "layers drawn at random that are said to be exact";
}

TEST(RecordedCudnnRnn, ExactAreThoseOfOneDirectionWithoutProjections) {
  int of_grid = 0;
  for (const RecordedLayers& recorded : all_recorded_layers()) {
    if (!recorded.is_of_grid) continue;
    ++of_grid;
    const operators::CudnnRnn& rnn = recorded.rnn;
    EXPECT_EQ(rnn.is_exact(), rnn.directions == 1 && rnn.projection_width == 0) << recorded.shape;
  }
  EXPECT_GT(of_grid, 0) << "ELIXIR_RECORDED_LAYERS";
}

}  // namespace
}  // namespace elixir::operators
