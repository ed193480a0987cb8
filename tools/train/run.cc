// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/run.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/directory.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "runtime/machine.h"
#include "runtime/ranks/tcp_socket.h"
#include "tools/train/announcement.h"
#include "tools/train/input_digests.h"
#include "tools/train/inputs.h"
#include "tools/train/memory_check.h"
#include "tools/train/outcome.h"
#include "tools/train/place.h"
#include "tools/train/prediction.h"
#include "tools/train/ranks/job_secret.h"
#include "tools/train/ranks/processes.h"
#include "tools/train/ranks/started.h"
#include "tools/train/ranks/variables.h"
#include "tools/train/run_options.h"
#include "tools/train/screen.h"
#include "train/run/ranks/last_tasks.h"
#include "train/run/ranks/rank_commands.h"
#include "train/run/resume.h"
#include "train/run/training_run.h"

namespace elixir::tools {
namespace {

/// The checkpoint from which a resumed run continues; nullopt: at its first step.
std::optional<train::FoundCheckpoint> resume_point(const TrainOptions& options,
                                                   const RunPlace& place,
                                                   const train::RunInputs& inputs,
                                                   Context& context) {
  const auto warn = [&](const std::string& text) { context.warn(text); };
  const train::RunIdentity& run = place.config->identity;
  std::optional<train::FoundCheckpoint> found;
  if (place.directory) {
    found = train::find_resume_point(place.directory->checkpoints(), run, inputs, warn);
  } else if (const auto checkpoints = Directory::open(place.path).find("checkpoints")) {
    found = train::find_resume_point(*checkpoints, run, inputs, warn);
  }
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

/// What this rank needs to train, whoever has started the others.
struct Preparation {
  const TrainOptions& options;
  RunPlace& place;
  const TrainInputs& inputs;
  const std::vector<InputDigest>& digests;
  const Prediction& prediction;
  const std::optional<train::FoundCheckpoint>& from;
};

/// The run from the first weights to the final output, on rank 0.
void train_with(const Preparation& prepared,
                train::RunOptions wanted,
                RunScreen& screen,
                Context& context) {
  RunPlace& place = prepared.place;
  train::TrainingRun run(prepared.inputs.run, std::move(wanted), prepared.from, screen);
  if (!place.directory) {
    place.directory.emplace(train::RunDirectory::create(place.path, context.overwrite()));
    place.run_id = place.directory->run_id();
  }
  train::remove_last_tasks(place.directory->directory());  // of a failure before
  run.begin(*place.directory, {to_json(prepared.options), to_json(prepared.digests)});
  const FinishesFirst step_and_checkpoint;
  train::RunResult result = run.train();
  screen.end();
  conclude({prepared.options,
            place,
            prepared.inputs,
            prepared.prediction,
            screen.measurements(),
            std::move(result)},
           run,
           context);
  throw_if_interrupted();
}

/// Likewise, with the others. What ends this rank is told to them.
void train_with_ranks(const Preparation& prepared,
                      const runtime::RankWays& ways,
                      int cpu_threads,
                      RunScreen& screen,
                      Context& context) {
  train::RunOptions wanted = run_options(prepared.options, ways.ranks(), context);
  wanted.cpu_threads = cpu_threads;
  end_when_overdue(ways);
  try {
    train_with(prepared, std::move(wanted), screen, context);
  } catch (const Error& error) {
    const auto& run = prepared.place.directory;
    leave_traces(error, ways, run ? &run->directory() : nullptr, context);
    throw;
  }
}

/// With as many processes as the plan has ranks.
void train_through(const Preparation& prepared, const MetRanks* met, Context& context) {
  const train::RunInputs& run = prepared.inputs.run;
  RunScreen screen(prepared.options, prepared.inputs, context);
  if (met != nullptr) {
    warn_of_few_threads(*met, run.plan, context);
    return train_with_ranks(prepared, met->ways, threads_of_started_rank(), screen, context);
  }
  if (run.plan.world == 1) {
    return train_with(prepared, run_options(prepared.options, {}, context), screen, context);
  }
  RankProcesses others(run.plan.world, run.device);
  try {
    train_with_ranks(prepared, others.ways(), /*cpu_threads=*/0, screen, context);
  } catch (Error& error) {
    if (error.info().code == ErrorCode::kRankLost) others.explain(error);
    throw;
  }
}

void check_machine(const TrainInputs& inputs, const MetRanks* met) {
  const plan::Plan& plan = inputs.run.plan;
  runtime::Machine machine = runtime::this_machine();
  int here = plan.world;
  if (met != nullptr) {
    here = met->started.local_world;
    machine.gpus = std::max(machine.gpus, here);  // each sees its own alone
  }
  runtime::check_ranks(plan, inputs.run.device, here, machine);
}

/// Rank 0, or the only one. `met`: the others, when something else has started them.
Answer lead(const TrainOptions& flags, const MetRanks* met, Context& context) {
  check_paths(flags);
  TrainOptions options = flags;
  RunPlace place = find_place(options, context);
  // Checked before the outputs, so that an invalid plan or model is reported first.
  OpenedFiles files = open_files(options, context);
  check_outputs(options, place, context);
  const TrainInputs inputs = read_inputs(std::move(files), options, context);
  const std::vector<InputDigest> digests = input_digests(options, inputs);
  if (place.config) check_unchanged(place.config->inputs(), digests, options, context);
  if (met != nullptr) check_met(*met, options, inputs, digests);
  check_machine(inputs, met);
  const Prediction prediction = predict(options, inputs, context);
  std::optional<train::FoundCheckpoint> from;
  if (options.resume) from = resume_point(options, place, inputs.run, context);
  announce(options, inputs, prediction, from, context);
  const bool fits = check_memory(inputs.run.plan, prediction.memory, context) != Answer::kNo;
  if (met != nullptr && (!fits || options.dry_run)) train::end_followers(met->ways.ranks());
  if (!fits) return Answer::kNo;
  if (options.dry_run) {
    RunFacts facts{options, place, inputs, prediction, {}, {}};
    if (from) facts.result.checkpoint_step = from->info.step;
    context.document() = summary_of(facts, "dry-run", context);
    return Answer::kYes;
  }
  train_through({options, place, inputs, digests, prediction, from}, met, context);
  throw_if_interrupted();
  return Answer::kYes;
}

/// A rank that torchrun or SLURM has started.
Answer train_started(const runtime::StartedRank& started,
                     const TrainOptions& options,
                     Context& context) {
  try {
    if (started.rank == 0) warn_of_strangers(started, context);
    const MetRanks met = meet_ranks(started);
    if (started.rank > 0) return follow(options, met.ways, &met, context);
    try {
      return lead(options, &met, context);
    } catch (const Error& error) {
      tell_others(error, met.ways);
      throw;
    } catch (const Interrupted&) {
      met.ways.say_failure("it was interrupted");
      throw;
    }
  } catch (Error& error) {
    error.note("this is rank {} of {}, process {} of {} on {}",
               started.rank,
               started.world,
               started.local_rank,
               started.local_world,
               runtime::host_name());
    throw;
  }
}

}  // namespace

Answer train(const TrainOptions& flags, Context& context) {
  if (const auto ways = ways_of_follower()) return follow(flags, *ways, nullptr, context);
  const Variables variables = [](const std::string& name) { return std::getenv(name.c_str()); };
  if (auto started = started_rank(variables)) {
    started->secret = job_secret(variables, started->on_one_machine());
    ::unsetenv(kJobSecretVariable);  // no process that this one starts needs it
    return train_started(*started, flags, context);
  }
  return lead(flags, nullptr, context);
}

}  // namespace elixir::tools
