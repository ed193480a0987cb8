// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/bench/correct.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/units.h"
#include "plan/plan.h"
#include "program/document.h"
#include "program/lifetimes.h"
#include "report/terminal/table.h"
#include "schedule/correct/corrected.h"
#include "schedule/edited_program.h"
#include "schedule/schedule.h"

namespace elixir::tools {
namespace {

/// How much of a step may be unexplained without a word.
constexpr double kWorthSaying = 0.05;

/// Twelve for each task, of which a step of OPT-175B has some 30,000 on each rank.
constexpr std::size_t kMostTraceValues = 20'000'000;

std::string needed(std::string_view flag, const std::string& path) {
  if (!path.empty()) return path;
  throw Error(ErrorCode::kBadFlagValue, "--run needs {}", flag)
      .help("give the plan and the profile with which the run was made");
}

std::string change(double before, double after) {
  return fmt::format("{:+.0f} %", 100 * (after / before - 1));
}

/// What the run took in comparison, one phrase for each kind of work.
std::string changes_of(const schedule::Corrected& corrected) {
  std::vector<std::string> phrases;
  for (const schedule::Correction& it : corrected.corrections) {
    phrases.push_back(fmt::format(
        "{} {}", schedule::kWorks.name_of(it.work), change(it.predicted_ns, it.measured_ns)));
  }
  return fmt::format("{}", fmt::join(phrases, ", "));
}

/// The step time of the run, as elixir-train prints it; nullopt if the summary is missing or has no
/// step.
std::optional<double> measured_step_ns(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "summary.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto document = JsonDocument::load(path.string());
  const auto measured = document->root("elixir.summary", 1).nullable("measured");
  if (!measured) return std::nullopt;
  return measured->at("step_ns").number();
}

std::string table_of(const schedule::Corrected& corrected, const std::optional<double>& step_ns) {
  report::Table table(
      {{"in a step", "", report::Align::kLeft}, {"predicted", ""}, {"measured", ""}, {"now", ""}});
  for (const schedule::Correction& it : corrected.corrections) {
    table.row({std::string(schedule::kWorks.name_of(it.work)),
               format_ns(it.predicted_ns),
               format_ns(it.measured_ns),
               format_ns(it.corrected_ns)});
  }
  table.row({"the step",
             format_ns(corrected.predicted_step_ns),
             step_ns ? format_ns(*step_ns) : "",
             format_ns(corrected.corrected_step_ns)});
  return table.text();
}

}  // namespace

hardware::HardwareProfile correct_by_run(const RunToLearnFrom& run,
                                         const std::string& path,
                                         Context& context) {
  const plan::Plan plan = plan::load_plan(needed("--plan", run.plan));
  const program::Profile profile = program::load_profile(needed("--profile", run.profile));
  plan::check_against(plan, profile.program);
  const program::Program program = schedule::edited_program(profile.program, plan);
  const schedule::Schedule schedule = schedule::lower(
      program, program::analyse_lifetimes(program), plan, {.clip_gradients = plan.clips_gradients});
  const auto trace =
      JsonDocument::load((std::filesystem::path(run.directory) / "trace.json").string(),
                         {.values = kMostTraceValues, .bytes = kLargestWholeFileBytes});
  schedule::Corrected corrected =
      schedule::corrected(hardware::load_hardware(path),
                          program,
                          plan,
                          schedule,
                          schedule::work_times(schedule, program, plan, *trace));
  corrected.hardware.noticed["run"] =
      fmt::format("corrected by the timed step of {}: {}", run.directory, changes_of(corrected));
  const std::optional<double> step_ns = measured_step_ns(run.directory);
  context.print(table_of(corrected, step_ns));
  if (step_ns && corrected.corrected_step_ns < (1 - kWorthSaying) * *step_ns) {
    context.warn(fmt::format(
        "{:.0f} % of the measured step is in none of these: tasks began late, or waited for "
        "other ranks. Steps predicted with the corrected profile may be as much too short",
        100 * (1 - corrected.corrected_step_ns / *step_ns)));
  }
  context.hint("next: elixir-search with the corrected profile");
  return std::move(corrected.hardware);
}

}  // namespace elixir::tools
