// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/profile_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "operators/scratch/evidence/call_form.h"
#include "report/profile/byte_unit.h"

namespace elixir::report {
namespace {

using program::Profile;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

memory::TrainingStep step_of(const Profile& profile) {
  return memory::predict_step(profile.program, profile.optimizer_use(), {}, {});
}

/// With modelled times, which take most lines.
search::RecomputationSavings savings_of(const Profile& profile) {
  const hardware::HardwareProfile hardware = fakes::machine(true);
  return search::recomputation_savings(profile.program, &hardware, [&](const auto& edited) {
    return memory::predict_step(edited, profile.optimizer, {}, {}).memory.peak_allocated_bytes;
  });
}

Profile profile_of(program::Program program) {
  Profile profile;
  profile.model_path = "model.pt";
  profile.program = std::move(program);
  profile.memory = step_of(profile).memory;
  return profile;
}

std::string screen_of(const Profile& profile, const Style& style = {.utf8 = true}) {
  return profile_screen(profile, step_of(profile), savings_of(profile), style);
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "";
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, display_width(line));
  return width;
}

TEST(ProfileScreen, SaysWhatIsNotComputed) {
  const std::string screen = screen_of(profile_of(fakes::transformer({})));
  EXPECT_THAT(line_with(screen, "reserved"), HasSubstr("not computed"));
  EXPECT_THAT(line_with(screen, "process "), HasSubstr("not computed"));
}

TEST(ProfileScreen, ShowsReservedAndProcessWhereTheyAreKnown) {
  Profile profile = profile_of(fakes::transformer({}));
  profile.memory.peak_reserved_bytes = 3 << 20;
  profile.memory.process_peak_bytes = 5 << 20;
  const std::string screen = screen_of(profile);
  EXPECT_THAT(line_with(screen, "reserved"), ContainsRegex("3,072\\.0 +the simulated allocator"));
  EXPECT_THAT(line_with(screen, "process "), ContainsRegex("5,120\\.0 +reserved, and context"));
  EXPECT_THAT(screen, Not(HasSubstr("not computed")));
}

TEST(ProfileScreen, SaysWhatIsKnownOfSeveralGpus) {
  program::Program program = fakes::transformer({});
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  Profile profile = profile_of(program);
  const auto line = [&](std::int64_t gpus) {
    const auto step = memory::predict_step(program, profile.optimizer, {}, {}, gpus);
    profile.memory = step.memory;
    return line_with(profile_screen(profile, step, savings_of(profile), {.utf8 = true}),
                     "process ");
  };
  EXPECT_THAT(line(1), Not(HasSubstr("NCCL")));
  EXPECT_THAT(line(2), ContainsRegex("[0-9.,]+ +modelled: reserved, .* of it NCCL's with 2 GPUs"));
  EXPECT_THAT(line(8),
              ContainsRegex("- +not known: what NCCL takes has not been measured with 8 GPUs"));
  program.target.sm = 80;
  profile = profile_of(program);
  for (const std::int64_t gpus : {1, 2, 8}) {
    EXPECT_THAT(line(gpus), ContainsRegex("- +not known: no process was measured on cuda:sm_80"))
        << gpus;
  }
}

TEST(ProfileScreen, SaysWhatAllocatedMemoryRestsOn) {
  program::Program program = fakes::transformer({});
  EXPECT_THAT(screen_of(profile_of(program)), HasSubstr("without workspaces of libraries"));
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  EXPECT_THAT(
      line_with(screen_of(profile_of(program)), "allocated "),
      ContainsRegex("modelled: [0-9]+ of [0-9]+ calls hold 0 B of it; how far off it may be is "
                    "not known"));
  const auto labels = profile_of(program).memory.certainty;
  ASSERT_TRUE(labels);
  for (const program::LabelledOperator& op : labels->modelled_operators) {
    for (program::Operator& call : program.operators) {
      if (operators::full_name(call) == op.name) call.name = "aten::relu";
    }
  }
  const std::string screen = screen_of(profile_of(program));
  EXPECT_THAT(line_with(screen, "allocated "), HasSubstr("exact, workspaces included"));
  EXPECT_THAT(line_with(screen, "reserved"), HasSubstr("exact: the simulated allocator"));
  EXPECT_THAT(line_with(screen, "process "), HasSubstr("measured: reserved, and"));
  EXPECT_THAT(line_with(screen, "workspace  "), ContainsRegex("[0-9.]+ +[0-9.]+"));
  program.operators[3].name = "aten::_convolution";
  const std::string modelled = screen_of(profile_of(program));
  EXPECT_THAT(line_with(modelled, "allocated "), HasSubstr("modelled: one of "));
  EXPECT_THAT(line_with(modelled, "reserved"), HasSubstr("modelled: the simulated allocator"));
  EXPECT_THAT(line_with(modelled, "process "), HasSubstr("modelled: reserved, and"));
  EXPECT_THAT(modelled, HasSubstr("\n  convolutions: one pass is guessed; nets whose"));
  program.target.sm = 80;
  EXPECT_THAT(line_with(screen_of(profile_of(program)), "allocated "), HasSubstr("modelled: "));
}

TEST(ProfileScreen, NamesTheOperatorAtThePeakWithItsModule) {
  const Profile profile = profile_of(fakes::transformer({}));
  const memory::Timeline timeline = step_of(profile).timeline;
  const auto& op = profile.program.operators.at(static_cast<std::size_t>(timeline.peak_operator));
  const std::string module = profile.program.modules.at(static_cast<std::size_t>(op.module));
  EXPECT_THAT(screen_of(profile),
              HasSubstr("reached at operator " + std::to_string(op.id) + ", " + op.name + " in " +
                        (module.empty() ? "(model)" : module)));
}

TEST(ProfileScreen, SaysThatTheOptimizersUpdateMakesThePeak) {
  program::Program program = fakes::mlp({512, 512, 512, 512}, 1);
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  Profile profile = profile_of(program);
  profile.optimizer_form = program::OptimizerForm::kTorchForeach;
  const std::string screen = screen_of(profile);
  EXPECT_THAT(screen, HasSubstr("optimizer adamw (torch-foreach)"));
  EXPECT_THAT(screen, HasSubstr("reached while the optimizer updates parameters\n"));
  EXPECT_THAT(line_with(screen, "the optimizer's update"), HasSubstr("3 × "));
  EXPECT_THAT(line_with(screen, "allocated "),
              ContainsRegex("modelled: one of [0-9]+ calls holds 0 B of it; "));
}

TEST(ProfileScreen, ListsTheLargestTensorsAndTheRest) {
  const std::string screen = screen_of(profile_of(fakes::transformer({.layers = 6})));
  EXPECT_THAT(line_with(screen, "float32[256,64]"), HasSubstr("wte.weight"));
  EXPECT_THAT(
      screen,
      ContainsRegex("14 × [0-9.,]+ +optimizer state +float32\\[256,64\\] +exp_avg of wte.weight"));
  EXPECT_THAT(screen, ContainsRegex("… [0-9]+ more"));
}

TEST(ProfileScreen, SaysWhatRecomputingSaves) {
  EXPECT_THAT(screen_of(profile_of(fakes::transformer({.layers = 3}))),
              HasSubstr("in 3 blocks; at least "));
  EXPECT_THAT(screen_of(profile_of(fakes::ProgramBuilder().build())),
              HasSubstr("recomputing saves nothing: there are no blocks\n"));
}

TEST(ProfileScreen, HasTheFourNumbersOfThePythonProfiler) {
  EXPECT_THAT(screen_of(profile_of(fakes::mlp({4, 8}, 2))),
              HasSubstr("param_occ 160, buffer_occ 0, grad_occ 160"));
}

TEST(ProfileScreen, ShowsSmallWorkInSmallUnits) {
  fakes::ProgramBuilder builder;
  const auto x = builder.input("x", {4}, program::DType::kFloat32);
  builder.call("aten::mm", {x}, {4}, 12'400'000'000);
  EXPECT_THAT(screen_of(profile_of(builder.build())), HasSubstr(", 12.4 GFLOP a step\n"));
}

TEST(ProfileScreen, SaysWhichInputIsTheLabel) {
  fakes::ProgramBuilder builder;
  builder.input("tokens", {4, 8});
  EXPECT_EQ(loss_line(builder.build(), "mse"),
            "loss: mse of the output and input `tokens`, the only one\n");
  builder.input("labels", {4, 8});
  EXPECT_EQ(loss_line(builder.build(), "cross-entropy"),
            "loss: cross-entropy of the output and input `labels`, the last of 2: it is the "
            "label\n");
}

TEST(ProfileScreen, FitsAScreen) {
  const std::string screen = screen_of(profile_of(fakes::transformer({.layers = 48})));
  EXPECT_LE(std::count(screen.begin(), screen.end(), '\n'), 60);
  EXPECT_THAT(screen, HasSubstr("(48 alike, each)"));
}

TEST(ProfileScreen, FitsTheWidthOfATerminalAndIsWholeElsewhere) {
  fakes::ProgramBuilder builder;
  const std::string module =
      "a_module_with_a_name_that_goes_on_and_on.and_then_some_more_of_it.end";
  const auto x = builder.input("x", {4096}, program::DType::kFloat32);
  const auto weight = builder.parameter(module + ".weight", {4096});
  builder.set_module(module);
  builder.call("aten::mul", {x, weight}, {4096});
  const Profile profile = profile_of(builder.build());
  for (const bool utf8 : {true, false}) {
    const Style narrow{.terminal = true, .utf8 = utf8, .columns = 80};
    const std::string screen = screen_of(profile, narrow);
    const std::string tables = screen.substr(screen.find("alive at the peak"));
    EXPECT_LE(widest(tables.substr(0, tables.find("as Elixir's"))), 80U) << screen;
  }
  EXPECT_THAT(screen_of(profile), HasSubstr("aten::mul in " + module));
}

TEST(ProfileScreen, AProgramWithoutOperatorsHasAScreen) {
  const std::string screen = screen_of(profile_of(fakes::ProgramBuilder().build()));
  EXPECT_THAT(screen, HasSubstr("0 operator calls"));
  EXPECT_THAT(screen, Not(HasSubstr("reached at")));
}

TEST(ProfileScreen, SaysHowManyCallsHaveNoModule) {
  Profile profile = profile_of(fakes::transformer({}));
  profile.unattributed_operators = 12;
  EXPECT_THAT(screen_of(profile), HasSubstr("12 operator calls could not be attributed"));
}

}  // namespace
}  // namespace elixir::report
