// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares programs captured without a GPU with what the same models requested from the allocator
// on an H200. The predicted requests of three steps equal the recorded ones, one by one. Through
// the simulated allocator they give the measured peaks, to the byte. ELIXIR_PROGRAMS and
// ELIXIR_TRACES name the directories of NAME.profile.json and NAME.trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/recorded/event_difference.h"
#include "memory/recorded/trace.h"
#include "memory/step/training_events.h"
#include "memory/step/training_memory.h"
#include "operators/scratch/evidence/call_form.h"
#include "recorded_program.h"

namespace elixir::memory {
namespace {

/// Without this test, missing data would silently mean missing tests.
TEST(RecordedProgramsData, IsThere) {
  EXPECT_GE(recorded_program_names().size(), 24U) << "ELIXIR_PROGRAMS=" << programs_directory();
}

class RecordedPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    RecordedProgram read = read_recorded_program(GetParam());
    predicted_ = std::move(read.predicted);
    recorded_ = std::move(read.recorded);
    const auto& operators = read.profile.program.operators;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (read.scripts[i].source != operators::ScriptSource::kModelled) continue;
      modelled_.insert(operators::call_form(operators[i], read.profile.program));
    }
  }

  TrainingEvents predicted_;
  RecordedTrace recorded_;
  std::set<std::string> modelled_;  ///< forms
};

TEST_P(RecordedPrograms, AskForExactlyWhatTheDeviceWasAskedFor) {
  const auto difference = first_difference(predicted_, recorded_.events);
  EXPECT_FALSE(difference) << "event " << difference->event << ", operator " << difference->at
                           << " in step " << difference->step << ": predicted "
                           << difference->predicted << ", recorded " << difference->recorded;
  // All that a prediction is checked with here is evidence, so nothing is an estimate.
  EXPECT_THAT(modelled_, testing::IsEmpty());
}

TEST_P(RecordedPrograms, ReachTheMeasuredPeaks) {
  std::vector<std::array<std::int64_t, 4>> measured;
  for (const RecordedEvent& event : recorded_.events) {
    if (event.kind == RecordedEvent::Kind::kPeaks) measured.push_back(event.peaks);
  }
  ASSERT_EQ(measured.size(), static_cast<std::size_t>(kRecordedSteps));
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
                         testing::ValuesIn(recorded_program_names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace elixir::memory
