// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/run.h"

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/interrupt.h"
#include "core/log.h"
#include "runtime/machine.h"
#include "tools/train/announcement.h"
#include "tools/train/inputs.h"
#include "tools/train/memory_check.h"
#include "tools/train/outcome.h"
#include "tools/train/place.h"
#include "tools/train/prediction.h"
#include "tools/train/rank_processes.h"
#include "tools/train/screen.h"
#include "train/run/follower.h"
#include "train/run/resume.h"
#include "train/run/training_run.h"

namespace elixir::tools {
namespace {

/// The checkpoint from which a resumed run continues; nullopt: at its first step.
std::optional<train::FoundCheckpoint> resume_point(const TrainOptions& options,
                                                   const RunPlace& place,
                                                   const train::RunInputs& inputs,
                                                   Context& context) {
  const std::string directory = place.path + "/checkpoints";
  if (!options.dry_run) {
    train::remove_leftovers(directory);
    if (options.export_path) train::remove_abandoned(*options.export_path);
  }
  auto found = train::find_resume_point(
      directory, place.run_id, inputs, [&](const std::string& text) { context.warn(text); });
  if (!found) {
    log::info("no checkpoint yet: the run starts again from its first step");
  } else if (found->info.step >= options.steps) {
    log::info(fmt::format("this run is finished: all its {} steps are done; --steps N trains on",
                          found->info.step));
  } else {
    log::info(fmt::format("resuming after step {} from {}", found->info.step, found->path));
  }
  return found;
}

train::RunOptions run_options(const TrainOptions& options,
                              const runtime::Ranks& ranks,
                              const Context& context) {
  train::RunOptions wanted;
  wanted.steps = options.steps;
  wanted.learning_rate = {
      *train::schedule_named(options.lr_schedule), options.lr, options.warmup_steps, options.steps};
  wanted.optimizer = {options.betas[0],
                      options.betas[1],
                      options.eps,
                      options.weight_decay,
                      options.no_decay,
                      options.clip_norm};
  wanted.seed = static_cast<std::uint64_t>(options.seed);
  wanted.deterministic = options.deterministic;
  wanted.checkpoints = {options.checkpoint_every, static_cast<int>(options.keep)};
  wanted.evaluate_every = options.eval_every;
  wanted.evaluation_batches = options.eval_batches;
  wanted.ranks = ranks;
  wanted.tool = "elixir-train";
  wanted.argv = context.argv();
  return wanted;
}

/// The run from the first weights to the final output, on rank 0.
void train_with(const TrainOptions& options,
                RunPlace& place,
                const TrainInputs& inputs,
                const Prediction& prediction,
                const std::optional<train::FoundCheckpoint>& from,
                const runtime::Ranks& ranks,
                RunScreen& screen,
                Context& context) {
  train::TrainingRun run(inputs.run, run_options(options, ranks, context), from, screen);
  if (!place.directory) {
    place.directory.emplace(train::RunDirectory::create(place.path, context.overwrite()));
    place.run_id = place.directory->run_id();
  }
  run.begin(*place.directory, to_json(options));
  const FinishesFirst step_and_checkpoint;
  train::RunResult result = run.train();
  screen.end();
  conclude(
      {options, place, inputs, prediction, screen.measurements(), std::move(result)}, run, context);
  throw_if_interrupted();
}

/// With as many processes as the plan has ranks.
void train_through(const TrainOptions& options,
                   RunPlace& place,
                   const TrainInputs& inputs,
                   const Prediction& prediction,
                   const std::optional<train::FoundCheckpoint>& from,
                   Context& context) {
  RunScreen screen(options, inputs, context);
  if (inputs.run.plan.world == 1) {
    return train_with(options, place, inputs, prediction, from, {}, screen, context);
  }
  RankProcesses others(inputs.run.plan.world, inputs.run.device);
  try {
    train_with(options, place, inputs, prediction, from, others.ranks(), screen, context);
  } catch (Error& error) {
    if (error.info().code == ErrorCode::kRankLost) others.explain(error);
    throw;
  }
}

/// What a rank does that rank 0 has started.
Answer follow(TrainOptions options, const RankWays& ways, Context& context) {
  options.dry_run = true;  // the run directory is rank 0's
  (void)find_place(options, context);
  const TrainInputs inputs = read_inputs(open_files(options), options, context);
  train::follow(inputs.run, run_options(options, ways.ranks(), context));
  return Answer::kYes;
}

}  // namespace

Answer train(const TrainOptions& flags, Context& context) {
  if (const auto ways = ways_of_follower()) return follow(flags, *ways, context);
  TrainOptions options = flags;
  RunPlace place = find_place(options, context);
  // Checked before the outputs, so that an invalid plan or model is reported first.
  const OpenedFiles files = open_files(options);
  check_outputs(options, place, context);
  const TrainInputs inputs = read_inputs(files, options, context);
  runtime::check_ranks(
      inputs.run.plan, inputs.run.device, inputs.run.plan.world, runtime::this_machine());
  const Prediction prediction = predict(options, inputs, context);
  std::optional<train::FoundCheckpoint> from;
  if (options.resume) from = resume_point(options, place, inputs.run, context);
  announce(options, inputs, prediction, from ? from->info.step + 1 : 1, context);
  if (check_memory(inputs.run.plan, prediction.memory, context) == Answer::kNo) {
    return Answer::kNo;
  }
  if (options.dry_run) {
    RunFacts facts{options, place, inputs, prediction, {}, {}};
    if (from) facts.result.checkpoint_step = from->info.step;
    context.document() = summary_of(facts, "dry-run", context);
    return Answer::kYes;
  }
  train_through(options, place, inputs, prediction, from, context);
  throw_if_interrupted();
  return Answer::kYes;
}

}  // namespace elixir::tools
