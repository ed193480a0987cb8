// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/correct/corrected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"
#include "report/trace/schedule_trace.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using hardware::HardwareProfile;
using plan::Home;

constexpr double kWithin = 0.01;

/// A step with everything on the host: some chunks are updated by the cores, with and without late
/// moments, and some by the device.
class Correcting : public testing::Test {
 protected:
  Correcting() {
    lay_out(12, [](plan::Chunk& chunk, std::size_t c) {
      chunk.streams_update = c % 3 == 0;
      chunk.late_moments = c % 3 == 1;
    });
  }
  /// `set` says how each chunk is updated.
  void lay_out(std::size_t layers, const std::function<void(plan::Chunk&, std::size_t)>& set) {
    program_ = fakes::mlp(std::vector<std::int64_t>(layers + 1, 512), 64);
    fakes::LayoutOptions options{.blocks = 3};
    options.parameters = options.gradients = options.optimizer = Home::kHost;
    plan_ = fakes::lay_out(program_, options);
    plan_.cache.update_piece_elements = 1 << 16;
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) set(plan_.chunks[c], c);
    lifetimes_ = program::analyse_lifetimes(program_);
    schedule_ = lower(program_, lifetimes_, plan_, {.clip_gradients = true});
  }

  [[nodiscard]] static HardwareProfile believed() {
    HardwareProfile machine = fakes::machine(true);
    machine.contention = {
        {.work = "host_to_device", .beside = "adam_cpu", .slowdown = fakes::figure(1.5)},
        {.work = "adam_cpu", .beside = "host_to_device", .slowdown = fakes::figure(1.3)},
    };
    // Others follow this one, at another rate than the plain form's.
    machine.adam_forms.push_back({.device = "cpu",
                                  .gradient = "bf16",
                                  .moments = "fp32",
                                  .master = "split",
                                  .parameters = 1 << 20,
                                  .params_per_s = fakes::figure(3e9)});
    for (const auto writes : {hardware::AdamWrites::kParameters, hardware::AdamWrites::kMoments}) {
      machine.adam_forms.push_back({.device = "cpu",
                                    .gradient = "fp32",
                                    .moments = "fp32",
                                    .master = "separate",
                                    .parameters = 1 << 20,
                                    .params_per_s = fakes::figure(1.4e9),
                                    .writes = writes});
    }
    return machine;
  }
  /// The same with other rates than were measured.
  [[nodiscard]] static HardwareProfile real() {
    HardwareProfile machine = believed();
    machine.links.host_to_device[0].bytes_per_s.median *= 0.7;
    machine.links.device_to_host[0].bytes_per_s.median *= 0.8;
    for (hardware::AdamRate& rate : machine.adam_cpu) rate.params_per_s.median *= 0.6;
    machine.adam_forms[0].params_per_s.median *= 0.6;
    machine.adam_forms[1].params_per_s.median *= 0.8;
    machine.adam_forms[2].params_per_s.median *= 0.7;
    return machine;
  }
  [[nodiscard]] Simulation step_on(const HardwareProfile& machine) const {
    return simulate(schedule_, program_, lifetimes_, plan_, hardware::CostModel(machine));
  }
  [[nodiscard]] Corrected corrected_by(const Simulation& measured) const {
    return corrected(believed(),
                     program_,
                     plan_,
                     schedule_,
                     work_times(schedule_, program_, plan_, measured.tasks));
  }
  /// As elixir-train writes it.
  [[nodiscard]] std::shared_ptr<const JsonDocument> trace_of(
      const std::vector<report::Timeline>& timelines) const {
    std::string text;
    report::write_schedule_trace(
        schedule_, program_, timelines, [&](std::string_view part) { text += part; });
    return JsonDocument::parse(text, "trace.json");
  }

  program::Program program_;
  program::Lifetimes lifetimes_;
  plan::Plan plan_;
  Schedule schedule_;
};

TEST_F(Correcting, MakesTheSimulationTakeAsLongAsTheStep) {
  const Simulation measured = step_on(real());
  const Corrected corrected = corrected_by(measured);
  EXPECT_GT(std::abs(corrected.predicted_step_ns / measured.step_ns - 1), 0.1);
  EXPECT_NEAR(corrected.corrected_step_ns / measured.step_ns, 1, kWithin);
  EXPECT_EQ(corrected.corrections.size(), kWorkCount);
  for (const Correction& it : corrected.corrections) {
    EXPECT_NEAR(it.corrected_ns / it.measured_ns, 1, kWithin) << kWorks.name_of(it.work);
  }
  EXPECT_NEAR(step_on(corrected.hardware).step_ns, corrected.corrected_step_ns, 1);
  EXPECT_THAT(corrected.hardware.links.host_to_device[0].bytes_per_s.method,
              testing::EndsWith("corrected by a run"));
}

TEST_F(Correcting, ChangesNothingThatIsRight) {
  const Simulation measured = step_on(believed());
  const Corrected corrected = corrected_by(measured);
  EXPECT_EQ(to_json(corrected.hardware), to_json(believed()));
  EXPECT_EQ(corrected.corrected_step_ns, corrected.predicted_step_ns);
}

/// It can only have had less beside it.
TEST_F(Correcting, WorkThatTookLessIsNotFasterForThat) {
  WorkTimes measured = work_times(schedule_, program_, plan_, step_on(believed()).tasks);
  for (double& work_ns : measured) work_ns *= 0.6;
  const Corrected corrected = schedule::corrected(believed(), program_, plan_, schedule_, measured);
  EXPECT_EQ(to_json(corrected.hardware), to_json(believed()));
  EXPECT_EQ(corrected.corrections.size(), kWorkCount);
  for (const Correction& it : corrected.corrections)
    EXPECT_EQ(it.factor, 1) << kWorks.name_of(it.work);
}

TEST_F(Correcting, PredictsOtherPlansBetter) {
  const Simulation measured = step_on(real());
  const Corrected corrected = corrected_by(measured);
  for (std::size_t c = 0; c < plan_.chunks.size(); ++c) plan_.chunks[c].streams_update = c % 2 == 0;
  schedule_ = lower(program_, lifetimes_, plan_, {.clip_gradients = true});
  const double step_ns = step_on(real()).step_ns;
  EXPECT_GT(std::abs(step_on(believed()).step_ns / step_ns - 1), 0.1);
  EXPECT_NEAR(step_on(corrected.hardware).step_ns / step_ns, 1, kWithin);
}

/// Or else a search would take forms that no run has corrected, because they seem faster.
TEST_F(Correcting, CorrectsFormsThatThePlanDoesNotUse) {
  const Corrected corrected = corrected_by(step_on(real()));
  const auto longer = [&](const hardware::AdamForm& form) {
    constexpr std::int64_t kElements = 1 << 20;
    return hardware::CostModel(corrected.hardware).adam_cpu_ns(kElements, form) /
           hardware::CostModel(believed()).adam_cpu_ns(kElements, form);
  };
  for (const auto writes : {hardware::AdamWrites::kAll,
                            hardware::AdamWrites::kParameters,
                            hardware::AdamWrites::kMoments}) {
    const double of_plan = longer({.gradient = program::DType::kFloat32, .writes = writes});
    EXPECT_GT(std::abs(of_plan - 1), 0.1);
    for (const auto gradient : {program::DType::kBFloat16, program::DType::kFloat32}) {
      for (const bool split : {false, true}) {
        const hardware::AdamForm form = {.gradient = gradient, .split = split, .writes = writes};
        EXPECT_NEAR(longer(form) / of_plan, 1, 1e-6)
            << hardware::kAdamWrites.name_of(writes) << split << static_cast<int>(gradient);
      }
    }
  }
}

/// Each pass contends as it does itself, in a whole simulation.
TEST_F(Correcting, PassesThatWriteAPartContendAsThemselves) {
  const auto times = [&](const char* pass) {
    HardwareProfile machine = believed();
    machine.contention.push_back(
        {.work = pass, .beside = "host_to_device", .slowdown = fakes::figure(6)});
    return work_times(schedule_, program_, plan_, step_on(machine).tasks);
  };
  const auto of = [](const WorkTimes& all, Work work) {
    return all[static_cast<std::size_t>(work)];
  };
  const WorkTimes before = work_times(schedule_, program_, plan_, step_on(believed()).tasks);
  const WorkTimes parameters = times("adam_cpu_parameters"), moments = times("adam_cpu_moments");
  EXPECT_GT(of(parameters, Work::kUpdateParameters), 1.2 * of(before, Work::kUpdateParameters));
  EXPECT_GT(of(moments, Work::kUpdateMoments), 1.2 * of(before, Work::kUpdateMoments));
  EXPECT_LT(of(parameters, Work::kUpdateMoments), 1.2 * of(before, Work::kUpdateMoments));
}

TEST_F(Correcting, AKindThatTakesLittleFollowsTheOthers) {
  lay_out(20, [](plan::Chunk& chunk, std::size_t c) { chunk.late_moments = c != 0; });
  WorkTimes measured = work_times(schedule_, program_, plan_, step_on(believed()).tasks);
  measured[static_cast<std::size_t>(Work::kUpdate)] *= 3;  // one chunk of 20
  measured[static_cast<std::size_t>(Work::kUpdateParameters)] *= 1.3;
  measured[static_cast<std::size_t>(Work::kUpdateMoments)] *= 1.2;
  const Corrected corrected = schedule::corrected(believed(), program_, plan_, schedule_, measured);
  const auto longer = [&](hardware::AdamWrites writes) {
    const hardware::AdamForm form = {.gradient = program::DType::kFloat32, .writes = writes};
    return hardware::CostModel(corrected.hardware).adam_cpu_ns(1 << 20, form) /
           hardware::CostModel(believed()).adam_cpu_ns(1 << 20, form);
  };
  const double whole = longer(hardware::AdamWrites::kAll);
  const double parameters = longer(hardware::AdamWrites::kParameters);
  const double moments = longer(hardware::AdamWrites::kMoments);
  EXPECT_GT(parameters, moments);
  EXPECT_GT(whole, moments);
  EXPECT_LT(whole, parameters);
}

TEST_F(Correcting, ReadsTheMeanOfTheRanksFromATrace) {
  const Simulation one = step_on(believed()), other = step_on(real());
  const auto trace = trace_of(
      {{"predicted", one.tasks}, {"measured rank 0", one.tasks}, {"measured rank 1", other.tasks}});
  const WorkTimes times = work_times(schedule_, program_, plan_, *trace);
  const WorkTimes of_one = work_times(schedule_, program_, plan_, one.tasks);
  const WorkTimes of_other = work_times(schedule_, program_, plan_, other.tasks);
  for (std::size_t i = 0; i < kWorkCount; ++i) {
    const double mean_ns = (of_one[i] + of_other[i]) / 2;
    EXPECT_NEAR(times[i], mean_ns, 1e-3 * mean_ns) << i;
  }
}

TEST_F(Correcting, RefusesTracesOfAnotherSchedule) {
  const Simulation step = step_on(believed());
  const auto refused = [&](const std::vector<report::Timeline>& timelines) {
    const auto trace = trace_of(timelines);
    plan_.chunks[0].streams_update = !plan_.chunks[0].streams_update;
    const Schedule schedule = lower(program_, lifetimes_, plan_, {.clip_gradients = true});
    EXPECT_THROW(static_cast<void>(work_times(schedule, program_, plan_, *trace)), Error);
    plan_.chunks[0].streams_update = !plan_.chunks[0].streams_update;
  };
  refused({{"measured rank 0", step.tasks}});
  const auto nothing_measured = trace_of({{"predicted", step.tasks}});
  EXPECT_THROW(static_cast<void>(work_times(schedule_, program_, plan_, *nothing_measured)), Error);
}

}  // namespace
}  // namespace elixir::schedule
