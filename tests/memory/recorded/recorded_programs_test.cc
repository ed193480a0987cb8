// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares programs captured without a GPU with what the same models requested from the allocator
// on an H200. The predicted requests of three steps equal the recorded ones, one by one. Through
// the simulated allocator they give the measured peaks, to the byte. ELIXIR_PROGRAMS and
// ELIXIR_TRACES name the directories of NAME.profile.json and NAME.trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files.h"
#include "memory/recorded/event_difference.h"
#include "memory/recorded/trace.h"
#include "memory/step/training_events.h"
#include "memory/step/training_memory.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"

namespace elixir::memory {
namespace {

constexpr int kSteps = 3;

std::filesystem::path directory(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  const std::string_view suffix = ".profile.json";
  std::error_code missing;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory("ELIXIR_PROGRAMS"), missing)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Without this test, missing data would silently mean missing tests.
TEST(RecordedProgramsData, IsThere) {
  EXPECT_GE(names().size(), 24U) << "ELIXIR_PROGRAMS=" << directory("ELIXIR_PROGRAMS");
}

class RecordedPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path =
        (directory("ELIXIR_PROGRAMS") / (GetParam() + ".profile.json")).string();
    const program::Profile profile = program::load_profile(path);
    const program::Program& program = profile.program;
    const auto scripts =
        operators::call_scripts(program,
                                operators::cuda_traits(program.target),
                                operators::shipped_workspace_table(program.target.sm));
    for (const operators::CallScript& script : scripts)
      modelled_ += script.source == operators::ScriptSource::kModelled;
    predicted_ = training_events(program, profile.optimizer, scripts, kSteps);
    const std::string trace = (directory("ELIXIR_TRACES") / (GetParam() + ".trace")).string();
    recorded_ = read_recorded_trace(read_file(trace), trace);
  }

  TrainingEvents predicted_;
  RecordedTrace recorded_;
  int modelled_ = 0;
};

TEST_P(RecordedPrograms, AskForExactlyWhatTheDeviceWasAskedFor) {
  const auto difference = first_difference(predicted_, recorded_.events);
  EXPECT_FALSE(difference) << "event " << difference->event << ", operator " << difference->at
                           << " in step " << difference->step << ": predicted "
                           << difference->predicted << ", recorded " << difference->recorded;
  EXPECT_EQ(modelled_, 0);
}

TEST_P(RecordedPrograms, ReachTheMeasuredPeaks) {
  std::vector<std::array<std::int64_t, 4>> measured;
  for (const RecordedEvent& event : recorded_.events) {
    if (event.kind == RecordedEvent::Kind::kPeaks) measured.push_back(event.peaks);
  }
  ASSERT_EQ(measured.size(), static_cast<std::size_t>(kSteps));
  const TrainingMemory memory =
      simulate_training(predicted_, recorded_.config, {.total_bytes = recorded_.device_bytes});
  ASSERT_GE(memory.steps.size(), measured.size());
  for (std::size_t step = 0; step < measured.size(); ++step) {
    EXPECT_EQ(memory.steps[step].peak_allocated_bytes, measured[step][0]) << "step " << step + 1;
    EXPECT_EQ(memory.steps[step].peak_reserved_bytes, measured[step][1]) << "step " << step + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Models,
                         RecordedPrograms,
                         testing::ValuesIn(names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace elixir::memory
