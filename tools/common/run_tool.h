// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The frame of every tool: common flags, streams, diagnostics, exit codes, signals. A tool is a
// flag table and a function. Only run_tool() catches exceptions, prints diagnostics and decides
// exit codes.
//
//   namespace {
//   struct Options {
//     std::string profile;
//     std::int64_t steps = 10;
//   };
//   elixir::tools::Answer work(const Options& options, elixir::tools::Context& context) {
//     // Check the output first, so that errors come before the long work.
//     const std::string output = context.prepare_output("plan.json");
//     auto progress = context.progress();
//     for (std::int64_t i = 0; i < options.steps; ++i) {
//       elixir::throw_if_interrupted();  // exit code 130
//       progress->update(double(i) / options.steps, "searching");
//     }
//     progress.reset();
//     context.write_output(output, "{}\n");           // atomic; "-" is stdout
//     context.document() = {{"plan", output}};        // --json prints it as `document`
//     context.print("plan found\n");                  // stdout; nothing with --json
//     context.hint("next: elixir-train " + output);   // terminals only
//     return elixir::tools::Answer::kYes;             // kNo: exit code 1
//   }
//   }  // namespace
//   int main(int argc, char** argv) {
//     Options options;
//     elixir::tools::ToolInfo info;
//     info.name = "elixir-search";
//     info.summary = "Finds the fastest plan that fits.";
//     info.examples = {{"elixir-search --profile p.json --hardware h200", "plan for one H200"}};
//     info.output = {"FILE", "where to write the plan", "plan.json"};
//     info.declare = [&](elixir::tools::Flags& flags) {
//       flags.group("Inputs");
//       flags.text("--profile", "FILE", &options.profile, "profile of the model").required();
//     };
//     return elixir::tools::run_tool(info, argc, argv, [&](elixir::tools::Context& context) {
//       return work(options, context);
//     });
//   }
//
// For broken input, environment or work, throw elixir::Error. For a negative answer, return
// Answer::kNo. std::bad_alloc becomes EX0701; any other exception is a bug (70). The first SIGINT
// or SIGTERM sets core/interrupt.h. Work that has not ended 1.5 s later is killed, unless it holds
// a FinishesFirst. The second signal ends the process at once. Neither leaves partial files.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "report/terminal/diagnostic.h"
#include "report/terminal/line_printer.h"
#include "report/terminal/terminal.h"
#include "tools/common/claimed_files.h"
#include "tools/common/cli.h"

namespace elixir::tools {

struct Example {
  std::string command;
  std::string meaning;
};

/// The output of -o. With an empty `value_name`, the tool has no -o and no --force.
struct OutputFlag {
  std::string value_name;
  std::string help;
  std::string default_text;
};

struct ToolInfo {
  std::string name;
  std::string summary;  ///< one sentence
  std::vector<Example> examples;
  OutputFlag output;
  std::function<void(Flags&)> declare;
  /// More rows of --version, e.g. {"LibTorch", "2.11.0"}. Called only for --version.
  std::function<std::vector<std::pair<std::string, std::string>>()> versions;
  /// Paragraphs at the end of --help, separated by empty lines.
  std::string details;
};

enum class Answer { kYes, kNo };

class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Prints result text without colour, adapted to the stream (report::fit). Goes to stdout (to
  /// stderr with `-o -`); prints nothing with --json. Throws kDiskFull or kIoError. A closed reader
  /// is not an error.
  void print(std::string_view text);
  /// Suggests the next step. Goes to stderr, only on terminals, not with --quiet.
  void hint(std::string_view text);
  /// Prints a warning on stderr and adds it to `diagnostics` of the JSON document.
  void warn(std::string_view message, std::vector<std::string> help = {});
  void warn(const ErrorInfo& info);
  /// Likewise, with --quiet too: for input that is not used. A run that ignores a part of its input
  /// looks like one that works.
  void warn_even_if_quiet(std::string_view message, std::vector<std::string> help = {});
  /// The `document` of the JSON result; null until it is set. Kept for a negative answer and when
  /// an error follows.
  [[nodiscard]] Json& document() { return document_; }

  /// The -o value, or `default_path`. Call it before long work: it throws when the file cannot be
  /// written (check_output), or is another file of this run (claimed_files.h).
  [[nodiscard]] std::string prepare_output(const std::string& default_path);
  /// The -o value as given; nullopt without the flag.
  [[nodiscard]] const std::optional<std::string>& output() const { return output_; }
  [[nodiscard]] Overwrite overwrite() const { return overwrite_; }
  /// Writes to a path from prepare_output(); "-" is stdout.
  void write_output(const std::string& path, std::string_view bytes);
  void write_output_streamed(const std::string& path,
                             const std::function<void(const Sink&)>& produce);

  /// For files that no flag names. Throws kConflictingFlags when one file is read and written, or
  /// written twice.
  [[nodiscard]] ClaimedFiles& files() { return files_; }

  /// Progress on stderr: one overwritten line, several lines, or nothing (--quiet; --json without a
  /// terminal). There may be only one at a time. Messages and results printed meanwhile do not mix
  /// with it. It must not outlive this object.
  [[nodiscard]] std::unique_ptr<report::LinePrinter> progress();

  /// Whether the command line had the flag. Distinguishes a default from a choice.
  [[nodiscard]] bool given(const std::string& flag) const;
  [[nodiscard]] const std::vector<std::string>& argv() const { return argv_; }
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  [[nodiscard]] const report::Style& out_style() const { return out_style_; }
  [[nodiscard]] const report::Style& err_style() const { return err_style_; }

 private:
  friend class ToolRun;
  friend class ToolProgress;
  void clear_progress();
  report::LinePrinter* progress_ = nullptr;
  Context() = default;
  std::vector<std::string> argv_;
  const Flags* flags_ = nullptr;
  std::optional<std::string> output_;
  Overwrite overwrite_ = Overwrite::kRefuse;
  bool json_ = false, quiet_ = false, no_progress_ = false;
  report::Style out_style_, err_style_;
  std::vector<report::Diagnostic> diagnostics_;
  Json document_;
  ClaimedFiles files_;
};

/// Runs a tool, from the command line to the exit code.
[[nodiscard]] int run_tool(const ToolInfo& info,
                           int argc,
                           char** argv,
                           const std::function<Answer(Context&)>& work);

}  // namespace elixir::tools
