// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/outcome.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/log.h"
#include "report/screen/critical_path_text.h"
#include "report/screen/train_log.h"
#include "report/trace/schedule_trace.h"
#include "schedule/simulate/critical_path.h"
#include "schedule/simulate/lateness.h"
#include "tools/train/data_notes.h"
#include "train/run/export.h"
#include "train/run/metrics.h"
#include "train/run/training_state.h"

namespace elixir::tools {
namespace {

std::string loss_unit_of(const RunFacts& facts) {
  return loss_unit(*facts.inputs.run.data, facts.inputs.run.data_format);
}

double flop_per_s(const RunFacts& facts, const StepFigures& measured) {
  return facts.inputs.run.flops_per_step / (measured.step_ns * 1e-9);
}

StepComparison comparison_of(const RunFacts& facts) {
  StepFigures measured = facts.measurements.figures();
  if (!facts.critical_paths.empty()) measured.critical_path = facts.critical_paths.front();
  measured.late_ns = facts.late_ns;
  return compare(facts.prediction.figures, measured, facts.inputs.run.device);
}

/// Measured, by rank; empty where no step was timed.
std::vector<schedule::CriticalPath> critical_paths_of(const RunFacts& facts,
                                                      const schedule::Schedule& schedule) {
  std::vector<schedule::CriticalPath> paths;
  for (const train::TimedStep& step : facts.result.times) {
    if (step.tasks.empty()) continue;
    paths.push_back(schedule::critical_path(schedule, step.tasks, step.step_ns));
  }
  return paths;
}

/// Measured, of rank 0, by stream; nullopt where no step was timed.
std::optional<std::array<double, schedule::kStreamCount>> late_ns_of(
    const RunFacts& facts, const schedule::Schedule& schedule) {
  const std::vector<train::TimedStep>& times = facts.result.times;
  if (times.empty() || times.front().tasks.empty()) return std::nullopt;
  const train::TimedStep& step = times.front();
  return schedule::by_stream(schedule, schedule::lateness_ns(schedule, step.tasks, step.step_ns));
}

void export_trained(const RunFacts& facts, train::TrainingRun& run, const Context& context) {
  const bool whole_archive =
      train::export_format_of(*facts.options.export_path) == train::ExportFormat::kTorchScript;
  const train::Buffers buffers = whole_archive ? train::Buffers::kAll : train::Buffers::kPersistent;
  train::export_model(*facts.options.export_path,
                      facts.inputs.model,
                      facts.inputs.run.captured.program,
                      train::model_tensors(run.trainer(), buffers),
                      context.overwrite());
}

/// Which buffers were exported, where the model file does not say what a state_dict has.
std::string persistence_note_of(const RunFacts& facts) {
  const std::vector<program::Buffer>& buffers = facts.inputs.run.captured.program.buffers;
  if (buffers.empty() || facts.inputs.model.says_persistent()) return "";
  return fmt::format(
      " with all {} buffers: the model file does not say which of them a state_dict has "
      "(docs/formats/buffers.md)",
      buffers.size());
}

/// A finished run that is resumed keeps the summary of its training.
void write_summary(const RunFacts& facts, const Json& summary) {
  const train::RunDirectory& run = *facts.place.directory;
  const bool exists = run.directory().kind_of("summary.json") != Directory::Kind::kNothing;
  if (!facts.measurements.empty() || !exists) run.write("summary.json", dump(summary));
}

void write_trace(const RunFacts& facts, const schedule::Schedule& schedule) {
  const std::vector<train::TimedStep>& times = facts.result.times;
  if (times.empty() || times.front().tasks.empty()) return;
  const auto& simulation = facts.prediction.simulation;
  std::vector<report::Timeline> timelines;
  if (simulation) timelines.push_back({"predicted", simulation->tasks});
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    timelines.push_back(
        {fmt::format("measured rank {}", rank), times[rank].tasks, times[rank].step_ns});
  }
  facts.place.directory->directory().write_streamed(
      "trace.json", Overwrite::kAllow, [&](const Sink& sink) {
        report::write_schedule_trace(schedule, facts.inputs.running, timelines, sink);
      });
}

void print_loss_scale(const RunFacts& facts, Context& context) {
  const train::RunResult& result = facts.result;
  if (!result.loss_scale) return;
  context.print(fmt::format("loss scale {}; {} of {} steps were skipped\n",
                            result.loss_scale->scale,
                            result.loss_scale->skipped_steps,
                            result.steps_done));
  if (result.skipped_here < facts.measurements.steps()) return;
  context.warn(
      "every step was skipped, because its gradients times the loss scale overflow: "
      "nothing was trained",
      {"begin with a smaller scale, as by --loss-scale dynamic:initial=1024, or train "
       "longer"});
}

void print_comparison(const RunFacts& facts, Context& context) {
  if (facts.measurements.empty()) return;
  const StepComparison comparison = comparison_of(facts);
  context.print(report::fit(table_of(comparison), context.out_style()));
  for (std::size_t rank = 1; rank < facts.critical_paths.size(); ++rank) {
    context.print(fmt::format(
        "critical path, rank {}: {}\n", rank, report::shares_of(facts.critical_paths[rank])));
  }
  for (const std::string& broken : comparison.broken) context.warn(broken);
  const StepFigures& measured = comparison.measured;
  std::string text =
      fmt::format("loss {:.4f} -> {:.4f}", *facts.result.first_loss, *facts.result.last_loss);
  if (const auto rate = train::tokens_per_s(facts.inputs.run, measured.step_ns)) {
    text += fmt::format(", {} tokens/s", report::format_rate(*rate));
  }
  text += fmt::format(", {} of the model", report::format_flop_per_s(flop_per_s(facts, measured)));
  context.print(text + "\n");
  print_loss_scale(facts, context);
}

void print_last_words(const RunFacts& facts, Context& context) {
  const train::RunResult& result = facts.result;
  if (!result.all_steps_done) {
    const auto& exported = facts.options.export_path;
    log::info(fmt::format("stopped after step {}; go on with elixir-train --resume {}{}",
                          result.steps_done,
                          facts.place.path,
                          exported ? " --export " + *exported : ""));
    return;
  }
  if (facts.exported) {
    context.print(
        fmt::format("exported to {}{}\n", *facts.options.export_path, persistence_note_of(facts)));
  }
  if (result.held_out_loss) {
    context.print(
        fmt::format("held-out loss {:.4f}{}\n", *result.held_out_loss, loss_unit_of(facts)));
  }
}

}  // namespace

Json summary_of(const RunFacts& facts, const char* ended, const Context& context) {
  const train::RunInputs& run = facts.inputs.run;
  const train::RunResult& result = facts.result;
  const std::string unit = loss_unit_of(facts);
  Json json = Json::object();
  json["schema"] = "elixir.summary";
  json["schema_version"] = kSchemaVersion;
  json["meta"] = make_meta("elixir-train", context.argv());
  json["ended"] = ended;
  json["run_id"] = facts.place.run_id.empty() ? Json() : Json(facts.place.run_id);
  json["run_directory"] = facts.options.dry_run ? Json() : Json(facts.place.path);
  json["program_fingerprint"] = run.fingerprint;
  json["device"] = name_of(run.device);
  json["arithmetic"] = name_of(plan::arithmetic_of(run.plan.edits));
  json["steps"] = facts.options.steps;
  json["steps_done"] = result.steps_done;
  json["parameters"] = run.captured.program.parameter_count();
  json["first_loss"] = value_or_null(result.first_loss);
  json["last_loss"] = value_or_null(result.last_loss);
  json["loss_scale"] = result.loss_scale ? Json(result.loss_scale->scale) : Json();
  json["skipped_steps"] = result.loss_scale ? result.loss_scale->skipped_steps : 0;
  json["first_held_out_loss"] = finite_or_null(result.first_held_out_loss);
  json["held_out_loss"] = finite_or_null(result.held_out_loss);
  json["loss_unit"] = unit.empty() ? Json() : Json(unit.substr(1));
  json["predicted"] = to_json(facts.prediction.figures);
  json["measured"] = nullptr;
  json["tokens_per_s"] = nullptr;
  json["model_flop_per_s"] = nullptr;
  json["promises_broken"] = Json::array();
  if (!facts.measurements.empty()) {
    const StepComparison comparison = comparison_of(facts);
    const StepFigures& measured = comparison.measured;
    json["measured"] = to_json(measured);
    json["tokens_per_s"] = value_or_null(train::tokens_per_s(run, measured.step_ns));
    json["model_flop_per_s"] = flop_per_s(facts, measured);
    json["promises_broken"] = comparison.broken;
  }
  json["checkpoint_step"] = value_or_null(result.checkpoint_step);
  json["export"] = facts.exported ? Json(*facts.options.export_path) : Json();
  return json;
}

void conclude(RunFacts facts, train::TrainingRun& run, Context& context) {
  train::RunResult& result = facts.result;
  const bool finished = result.all_steps_done;
  // A run that had already finished has none yet.
  if (finished && !result.held_out_loss) result.held_out_loss = run.evaluate();
  facts.critical_paths = critical_paths_of(facts, run.trainer().schedule());
  facts.late_ns = late_ns_of(facts, run.trainer().schedule());
  const auto tell = [&] {
    const Json summary = summary_of(facts, finished ? "finished" : "interrupted", context);
    context.document() = summary;
    write_summary(facts, summary);
    write_trace(facts, run.trainer().schedule());
  };
  if (finished && facts.options.export_path) {
    try {
      export_trained(facts, run, context);
      facts.exported = true;
    } catch (Error& error) {
      facts.result.checkpoint_step = run.keep(error);
      tell();
      throw;
    }
  }
  tell();
  print_comparison(facts, context);
  print_last_words(facts, context);
}

}  // namespace elixir::tools
