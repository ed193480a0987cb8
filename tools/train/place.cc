// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/place.h"

#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "train/run/export.h"

namespace elixir::tools {
namespace {

RunPlace open_resumed(TrainOptions& options, Context& context) {
  RunPlace place;
  place.path = *options.resume;
  if (context.output()) {
    throw Error(ErrorCode::kConflictingFlags, "-o and --resume both name the run directory")
        .help("leave -o out: the resumed run's directory is used");
  }
  if (options.dry_run) {
    place.config = train::read_config(Directory::open(place.path));
  } else {
    place.directory.emplace(train::RunDirectory::open(place.path));
    place.config = train::read_config(place.directory->directory());
  }
  place.run_id = place.config->identity.run_id;
  options = resume_options(options, place.config->options(), [&](const std::string& flag) {
    return context.given(flag);
  });
  if (options.unconfirmed_export) {
    context.warn(
        fmt::format("the trained model is not exported to `{}`, which only config.json names",
                    *options.unconfirmed_export),
        {fmt::format("give the flag again: --export {}", *options.unconfirmed_export)});
  }
  return place;
}

void require_flag(const char* flag, bool given) {
  if (given) return;
  throw Error(ErrorCode::kMissingArgument, "{} is missing", flag)
      .help("elixir-train --plan PLAN.json --model MODEL.pt --data DATA");
}

void check_options(const TrainOptions& options) {
  require_flag("--plan", !options.plan.empty());
  require_flag("--model", !options.model.empty());
  require_flag("--data", !options.data.empty());
  if (options.accept_changed_data && !options.resume) {
    throw Error(ErrorCode::kConflictingFlags, "--accept-changed-data is for --resume alone");
  }
  require_flag("--eval-data", options.eval_every == 0 || !options.eval_data.empty());
  if (options.warmup_steps > options.steps) {
    throw Error(ErrorCode::kBadFlagValue,
                "--warmup-steps {} is more than --steps {}",
                options.warmup_steps,
                options.steps);
  }
}

/// Files that --force or a resumed run replaces must not be inputs.
void claim_files(const TrainOptions& options, const std::string& run_path, Context& context) {
  ClaimedFiles& files = context.files();
  if (options.resume) {
    const std::string who = "the resumed run";
    for (const std::string& path : {options.plan, options.model}) files.reads(who, path);
    for (const auto* paths : {&options.data, &options.eval_data}) {
      for (const std::string& path : *paths) files.reads(who, path);
    }
    for (const auto& path : {options.weights, options.hardware})
      files.reads(who, path.value_or(""));
  }
  for (const std::string& path : train::RunDirectory::files_of(run_path)) {
    files.replaces_directory(options.resume ? "--resume" : "-o", path);
  }
}

/// What a process leaves that is killed while it exports.
void remove_abandoned(const std::filesystem::path& path) {
  const std::filesystem::path above = path.parent_path();
  Directory::open(above.empty() ? "." : above.string()).remove_abandoned(path.filename().string());
}

}  // namespace

RunPlace find_place(TrainOptions& options, Context& context) {
  RunPlace place = options.resume ? open_resumed(options, context) : RunPlace{};
  check_options(options);
  if (!options.resume) {
    const std::string stem = std::filesystem::path(options.model).stem().string();
    place.path = context.output().value_or(stem + ".run");
  }
  claim_files(options, place.path, context);
  return place;
}

void check_outputs(const TrainOptions& options, const RunPlace& place, Context& context) {
  if (!options.resume && (!options.dry_run || context.output())) {
    train::RunDirectory::check(place.path, context.overwrite());
  }
  if (options.export_path) {
    (void)train::export_format_of(*options.export_path);
    check_output(*options.export_path, context.overwrite(), "--export");
    if (options.resume && !options.dry_run) remove_abandoned(*options.export_path);
  }
}

}  // namespace elixir::tools
