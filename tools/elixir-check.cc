// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-check: checks profiles and plans against budgets and baselines, for continuous
// integration. It links only the planning half, so it needs no GPU and no LibTorch.
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/budget.h"
#include "check/budget_check.h"
#include "core/files.h"
#include "core/units.h"
#include "report/ci/github.h"
#include "report/ci/junit.h"
#include "report/screen/check_screen.h"
#include "tools/check/documents.h"
#include "tools/common/run_tool.h"

namespace {

using elixir::Error;
using elixir::ErrorCode;
using elixir::check::CheckedDocument;
using elixir::check::Measure;
using elixir::check::Quantity;
using elixir::tools::Flags;

struct Options {
  std::vector<std::string> files;
  elixir::check::ByQuantity<std::optional<std::int64_t>> limits;
  std::optional<elixir::check::BaselinePath> baseline;
  std::optional<elixir::check::Increase> max_increase;
  std::string format = "text";
  std::optional<std::string> junit;
  std::optional<elixir::check::Required> require;
  bool force = false;
};

struct LimitFlag {
  Quantity quantity;
  const char* name;
  const char* help;
};
constexpr elixir::check::ByQuantity<LimitFlag> kLimitFlags{{
    {Quantity::kPeakAllocated, "--max-peak-allocated", "bytes of tensors at the peak"},
    {Quantity::kPeakReserved, "--max-peak-reserved", "bytes of the allocator's segments"},
    {Quantity::kProcess, "--max-process", "bytes of the process on the GPU, context included"},
    {Quantity::kActivations, "--max-activations", "most bytes of activations alive at once"},
    {Quantity::kHost, "--max-host-memory", "host bytes of a plan"},
    {Quantity::kParameters, "--max-parameters", "parameters, tied ones once: 125M, 1.3B"},
    {Quantity::kStepTime, "--max-step-time", "predicted time of a plan's step: 250ms"},
    {Quantity::kMeasuredCalls, "--max-measured-calls", "calls with measured scratch memory"},
    {Quantity::kModelledCalls, "--max-modelled-calls", "calls with modelled scratch memory"},
}};

elixir::check::Origin from_flag(const char* flag) {
  elixir::check::Origin origin;
  origin.flag = flag;
  return origin;
}

/// The rules of the budget for this document. Flags override them.
elixir::check::Rules rules_of(const CheckedDocument& document,
                              const elixir::tools::CheckInputs& inputs,
                              const Options& options) {
  elixir::check::Rules rules;
  if (inputs.budget) rules = rules_for(*inputs.budget, document.path);
  for (const LimitFlag& flag : kLimitFlags) {
    const std::size_t i = elixir::check::index_of(flag.quantity);
    if (options.limits[i]) rules.limits[i] = {*options.limits[i], from_flag(flag.name)};
  }
  if (options.require) {
    for (const auto& [quantity, limit] : limits_of(*options.require, from_flag("--require"))) {
      rules.limits[elixir::check::index_of(quantity)] = limit;
    }
  }
  if (options.baseline) rules.baseline = options.baseline;
  if (options.max_increase) {
    rules.max_increase = options.max_increase;
    rules.max_increases = {};
  }
  if (rules.empty() && !options.require) {
    throw Error(ErrorCode::kMissingArgument, "there is no limit for `{}`", document.path)
        .help("give a budget document, or limits such as --max-peak-allocated 20GiB")
        .help("or --baseline OLD.profile.json --max-increase 2%");
  }
  if (rules.limits_increase() && !rules.baseline) {
    throw Error(ErrorCode::kMissingArgument,
                "there is no baseline for `{}`, though its increase is limited",
                document.path)
        .help("give --baseline FILE|DIRECTORY, or `baseline` in the budget");
  }
  return rules;
}

std::vector<elixir::check::Subject> subjects_of(elixir::tools::CheckInputs inputs,
                                                const Options& options) {
  std::vector<elixir::check::Rules> rules;
  for (const CheckedDocument& document : inputs.documents) {
    rules.push_back(rules_of(document, inputs, options));
  }
  std::vector<std::optional<CheckedDocument>> baselines(inputs.documents.size());
  for (std::size_t i = 0; i < inputs.documents.size(); ++i) {
    if (!rules[i].baseline) continue;
    std::vector<const CheckedDocument*> sharers;
    for (std::size_t j = 0; j < inputs.documents.size(); ++j) {
      if (rules[j].baseline && rules[j].baseline->path == rules[i].baseline->path) {
        sharers.push_back(&inputs.documents[j]);
      }
    }
    baselines[i] = elixir::tools::read_baseline(*rules[i].baseline, inputs.documents[i], sharers);
  }
  std::vector<elixir::check::Subject> subjects;
  for (std::size_t i = 0; i < inputs.documents.size(); ++i) {
    subjects.push_back(
        {std::move(inputs.documents[i]), std::move(rules[i]), std::move(baselines[i])});
  }
  return subjects;
}

/// Warns about globs that match nothing, because then a limit is silently not checked any more.
void warn_about_unused(const elixir::tools::CheckInputs& inputs, elixir::tools::Context& context) {
  if (!inputs.budget) return;
  for (const elixir::check::ModelRules& model : inputs.budget->models) {
    bool used = false;
    for (const CheckedDocument& document : inputs.documents) {
      used = used || matches(model, document.path);
    }
    if (used) continue;
    elixir::ErrorInfo info;
    info.code = ErrorCode::kJsonBadValue;
    info.message = fmt::format("no checked file matches `{}`", fmt::join(model.files, "`, `"));
    info.where = model.origin.place;
    context.warn(info);
  }
}

/// Whoever names the workspaces of convolutions changes peaks, though the model stays the same.
void warn_about_workspaces(const elixir::check::Subject& subject, elixir::tools::Context& context) {
  const std::string& now = subject.document.attribution->workspaces;
  const std::string& before = subject.baseline->attribution->workspaces;
  if (now == before) return;
  context.warn(
      fmt::format("`{}` and its baseline have the workspaces of convolutions from different "
                  "sources: {} before; {} now",
                  subject.document.path,
                  before,
                  now),
      {"make both with the same cuDNN and --cudnn before you blame the model"});
}

void warn_about_baselines(const std::vector<elixir::check::Subject>& subjects,
                          elixir::tools::Context& context) {
  for (const elixir::check::Subject& subject : subjects) {
    const std::string& path = subject.document.path;
    if (subject.rules.baseline && !subject.baseline) {
      context.warn(fmt::format("`{}` has no baseline at `{}`", path, subject.rules.baseline->path));
    }
    if (!subject.baseline || !subject.document.attribution) continue;
    warn_about_workspaces(subject, context);
    const auto& now = *subject.document.attribution;
    const auto& before = *subject.baseline->attribution;
    if (now.inputs != before.inputs || now.optimizer != before.optimizer) {
      context.warn(
          fmt::format("`{}` and its baseline differ in more than the model: {}, {} "
                      "before; {}, {} now",
                      path,
                      fmt::join(before.inputs, ", "),
                      before.optimizer,
                      fmt::join(now.inputs, ", "),
                      now.optimizer));
    }
  }
}

/// Writes to the file that GitHub shows under the job. Appends, because other steps write there
/// too.
void write_step_summary(const elixir::check::CheckReport& report, elixir::tools::Context& context) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') return;
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << elixir::report::github_summary(report);
  file.close();
  if (!file) context.warn(fmt::format("cannot write the step summary to `{}`", path));
}

elixir::tools::Answer work(const Options& options, elixir::tools::Context& context) {
  const auto overwrite = options.force ? elixir::Overwrite::kAllow : elixir::Overwrite::kRefuse;
  if (options.junit) elixir::check_output(*options.junit, overwrite, "--junit");
  elixir::tools::CheckInputs inputs = elixir::tools::read_documents(options.files);
  warn_about_unused(inputs, context);
  const std::vector<elixir::check::Subject> subjects = subjects_of(std::move(inputs), options);
  for (const elixir::check::Subject& subject : subjects) {
    if (subject.baseline) context.files().reads("the baseline", subject.baseline->path);
  }
  warn_about_baselines(subjects, context);

  const elixir::check::CheckReport report = elixir::check::check_documents(subjects);
  context.document() = elixir::report::to_json(report);
  if (options.junit) {
    elixir::write_file(*options.junit, elixir::report::junit_xml(report), overwrite);
  }
  const std::string screen = elixir::report::check_screen(report);
  if (options.format == "github") {
    context.print(elixir::report::github_inert(screen));
    context.print(elixir::report::github_annotations(report));
    write_step_summary(report, context);
  } else {
    context.print(screen);
  }
  return report.failed == 0 ? elixir::tools::Answer::kYes : elixir::tools::Answer::kNo;
}

void declare_limit(Flags& flags, const LimitFlag& limit, std::optional<std::int64_t>& value) {
  const Measure measure = elixir::check::info_of(limit.quantity).measure;
  if (measure == Measure::kBytes) {
    auto& flag = flags.bytes(limit.name, &value, limit.help);
    const bool on_gpu =
        limit.quantity != Quantity::kActivations && limit.quantity != Quantity::kHost;
    if (on_gpu) flag.brief();
    return;
  }
  flags.parsed(
      limit.name,
      measure == Measure::kCount ? "N" : "TIME",
      [&value, measure](const std::string& text) {
        value = elixir::check::parse_value(measure, text);
        return value.has_value();
      },
      elixir::check::expected_value(measure, ""),
      limit.help);
}

void declare(Flags& flags, Options& options) {
  flags.group("Inputs");
  flags
      .positionals("FILE",
                   &options.files,
                   "profiles and plans to check, and a budget document, in any order")
      .reads()
      .required();
  flags.group("Limits");
  for (const LimitFlag& limit : kLimitFlags) {
    declare_limit(flags, limit, options.limits[elixir::check::index_of(limit.quantity)]);
  }
  flags.choice("--require",
               elixir::check::kRequired,
               &options.require,
               "how certain the peaks of profiles must be, at least");
  flags.exclusive({"--require", "--max-modelled-calls"});
  flags.exclusive({"--require", "--max-measured-calls"});
  flags.group("Baseline");
  flags
      .parsed(
          "--baseline",
          "FILE|DIRECTORY",
          [&options](const std::string& text) {
            options.baseline = elixir::check::BaselinePath{text, from_flag("--baseline")};
            return !text.empty();
          },
          "a file or a directory",
          "the older document, or a directory of them by file name")
      .reads()
      .brief();
  flags
      .parsed(
          "--max-increase",
          "PERCENT",
          [&options](const std::string& text) {
            const auto percent = elixir::parse_percent(text);
            if (percent) {
              options.max_increase = elixir::check::Increase{*percent, from_flag("--max-increase")};
            }
            return percent.has_value();
          },
          "a percentage such as 2% or 0.5%",
          "how much anything may grow over its baseline")
      .brief();
  flags.group("Output");
  flags.choice("--format", {"text", "github"}, &options.format, "github: annotations too").brief();
  flags.text("--junit", "FILE", &options.junit, "write the checks as JUnit XML").writes();
  flags.toggle("--force", &options.force, "replace an existing JUnit file");
  flags.exclusive({"--json", "--format"});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-check";
  info.summary = "Holds profiles and plans against budgets and baselines.";
  info.examples = {
      {"elixir-check budget.json gpt2.profile.json", "by a budget document"},
      {"elixir-check --max-peak-allocated 20GiB *.profile.json", "by a limit of every model"},
      {"elixir-check --require exact *.profile.json", "no peak may rest on an estimate"},
      {"elixir-check --baseline main/ --max-increase 2% --format github --junit check.xml "
       "*.profile.json",
       "in continuous integration: nothing may grow by more than 2 %"}};
  info.details =
      "A flag goes before the same limit in the budget document. A limited figure that a document "
      "does not have is a failure (\"not known\"), unless a document of the other kind, of the "
      "same program and checked in the same run, answers it: plans have step time and host "
      "memory, profiles parameters and activations.\n"
      "\n"
      "--require exact allows no measured and no modelled call, --require measured no modelled "
      "one; the report lists them by operator and module. A profile that does not say how certain "
      "it is fails. --require modelled, the default, accepts all. A budget may say `require` "
      "too.\n"
      "\n"
      "Exit code 1: over budget; the report names the modules and operators that are responsible. "
      "With --format github, a failed check is an annotation, and a table goes to the step's "
      "summary.";
  info.declare = [&options](Flags& flags) { declare(flags, options); };
  return elixir::tools::run_tool(info, argc, argv, [&options](elixir::tools::Context& context) {
    return work(options, context);
  });
}
