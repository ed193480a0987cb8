// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/run_tool.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "elixir_config.h"
#include "process/child.h"
#include "tools/common/commit.h"

namespace elixir::tools {
namespace {

constexpr int kExitNo = 1;
constexpr int kExitSignal = 128;
constexpr const char* kReport =
    "this is a bug in Elixir: please report it with the command line and `--version`";

std::atomic<bool> stdout_closed{false};  // the reader of the pipe is gone

/// Writes everything or throws an Error. If the reader of a pipe is gone, does nothing.
void write_descriptor(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int number = errno;
    if (number == EINTR) continue;
    if (descriptor != STDOUT_FILENO) return;  // stderr failed, so there is nowhere to report it
    if (number == EPIPE) {
      stdout_closed = true;
      return;
    }
    throw Error(number == ENOSPC ? ErrorCode::kDiskFull : ErrorCode::kIoError,
                fmt::format("cannot write to stdout: {}", std::generic_category().message(number)));
  }
}

/// Whether `path` is another name of stdout, like /dev/stdout. Such a file must not be replaced by
/// a new one.
bool is_stdout(const std::string& path) {
  struct stat named {
  }, open{};
  return (path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0) && path != "/dev/null" &&
         ::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

void write_stdout(std::string_view bytes) {
  // Flush first, so that what libraries printed through stdio comes before this text.
  std::fflush(stdout);
  if (!stdout_closed) write_descriptor(STDOUT_FILENO, bytes);
}

void write_stderr(std::string_view bytes) {
  write_descriptor(STDERR_FILENO, bytes);
}

// The --json documents for exit codes 130 and 143, for a signal that ends the process before run()
// can print one. Null without --json, and once the real document is being printed.
std::atomic<const char*> document_when_ended[2]{nullptr, nullptr};
// Time for a first signal. Two seconds are promised, so this leaves time to end.
constexpr long kGraceMicroseconds = 1'500'000;

extern "C" void end_now(int signal) {
  if (signal == SIGALRM) signal = interrupt_signal();
  abandon_temporaries();
  process::signal_children(SIGKILL);
  const char* document = document_when_ended[signal == SIGTERM ? 1 : 0].exchange(nullptr);
  if (document != nullptr) {
    static_cast<void>(!::write(STDOUT_FILENO, document, std::strlen(document)));
  }
  ::_exit(kExitSignal + signal);
}

extern "C" void on_signal(int signal) {
  if (interrupted()) end_now(signal);
  request_interrupt(signal);
  process::signal_children(signal);
  std::string_view text = "\ninterrupted\n";
  if (finishes_first()) {
    text = "\ninterrupted: finishing what was begun; once more ends at once\n";
  } else {
    // Libraries, a model's own loops and a slow disk do not poll for interrupts.
    struct itimerval grace {};
    grace.it_value = {.tv_sec = kGraceMicroseconds / 1'000'000,
                      .tv_usec = kGraceMicroseconds % 1'000'000};
    ::setitimer(ITIMER_REAL, &grace, nullptr);
  }
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void install_signals() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = end_now;
  ::sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    // A shell starts background jobs with SIGINT ignored. Keep it ignored.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
  // A closed pipe or socket, or a file-size limit, must be an error of one write, not end the
  // process.
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
  ::sigaction(SIGXFSZ, &action, nullptr);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The values of --json and --color, for when parsing fails.
struct EarlyFlags {
  bool json = false;
  report::ColorChoice color = report::ColorChoice::kAuto;
};

std::optional<report::ColorChoice> color_named(std::string_view name) {
  if (name == "auto") return report::ColorChoice::kAuto;
  if (name == "always") return report::ColorChoice::kAlways;
  if (name == "never") return report::ColorChoice::kNever;
  return std::nullopt;
}

EarlyFlags early_flags(const std::vector<std::string>& arguments) {
  EarlyFlags early;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& word = arguments[i];
    std::optional<report::ColorChoice> color;
    if (word == "--json") early.json = true;
    if (word == "--color" && i + 1 < arguments.size()) color = color_named(arguments[i + 1]);
    if (word.compare(0, 8, "--color=") == 0) color = color_named(word.substr(8));
    if (color) early.color = *color;
  }
  return early;
}

}  // namespace

// --- context -------------------------------------------------------------------------------------

/// The progress line of a context. Other output clears it first.
class ToolProgress : public report::LinePrinter {
 public:
  ToolProgress(Context& context, report::ProgressMode mode)
      : LinePrinter(mode, context.err_style_, write_stderr, now_ns), context_(context) {
    context_.progress_ = this;
    log::set_before_message([this] { clear(); });
  }
  ~ToolProgress() override {
    context_.progress_ = nullptr;
    log::set_before_message({});
  }
  ToolProgress(const ToolProgress&) = delete;
  ToolProgress& operator=(const ToolProgress&) = delete;

 private:
  Context& context_;
};

Context::~Context() = default;

void Context::clear_progress() {
  if (progress_ != nullptr) progress_->clear();
}

void Context::print(std::string_view text) {
  if (json_) return;
  clear_progress();
  if (output_ == "-") {
    write_stderr(report::fit(text, err_style_));
  } else {
    write_stdout(report::fit(text, out_style_));
  }
}

void Context::hint(std::string_view text) {
  if (quiet_ || json_ || !err_style_.terminal || !out_style_.terminal) return;
  clear_progress();
  write_stderr(report::fit(text, err_style_) + "\n");
}

void Context::warn(std::string_view message, std::vector<std::string> help) {
  report::Diagnostic diagnostic;
  diagnostic.severity = report::Severity::kWarning;
  diagnostic.message = message;
  diagnostic.help = std::move(help);
  clear_progress();
  if (!quiet_) write_stderr(report::render(diagnostic, err_style_));
  diagnostics_.push_back(std::move(diagnostic));
}

void Context::warn_even_if_quiet(std::string_view message, std::vector<std::string> help) {
  const bool quiet = std::exchange(quiet_, false);
  warn(message, std::move(help));
  quiet_ = quiet;
}

void Context::warn(const ErrorInfo& info) {
  report::Diagnostic diagnostic = report::diagnostic_of(info);
  diagnostic.severity = report::Severity::kWarning;
  clear_progress();
  if (!quiet_) write_stderr(report::render(diagnostic, err_style_));
  diagnostics_.push_back(std::move(diagnostic));
}

std::string Context::prepare_output(const std::string& default_path) {
  std::string path = output_.value_or(default_path);
  if (is_stdout(path)) {
    path = "-";
    output_ = path;
  }
  if (path != "-") {
    files_.writes("-o", path);
    check_output(path, overwrite_);
  } else if (json_) {
    throw Error(ErrorCode::kConflictingFlags, "`-o -` and `--json` both want stdout")
        .help("give -o a file name");
  }
  return path;
}

void Context::write_output(const std::string& path, std::string_view bytes) {
  write_output_streamed(path, [&](const Sink& sink) { sink(bytes); });
}

void Context::write_output_streamed(const std::string& path,
                                    const std::function<void(const Sink&)>& produce) {
  if (path == "-") {
    produce([](std::string_view bytes) { write_stdout(bytes); });
  } else {
    write_file_streamed(path, overwrite_, produce);
  }
}

std::unique_ptr<report::LinePrinter> Context::progress() {
  report::ProgressMode mode = report::ProgressMode::kLines;
  if (quiet_ || no_progress_ || (json_ && !err_style_.terminal)) {
    mode = report::ProgressMode::kOff;
  } else if (err_style_.terminal) {
    mode = report::ProgressMode::kTerminal;
  }
  return std::make_unique<ToolProgress>(*this, mode);
}

bool Context::given(const std::string& flag) const {
  return flags_->given(flag);
}

// --- run -----------------------------------------------------------------------------------------

/// One run of a tool: parse, work, render, exit code.
class ToolRun {
 public:
  ToolRun(const ToolInfo& info, int argc, char** argv) : info_(info) {
    for (int i = 0; i < argc; ++i) context_.argv_.emplace_back(argv[i]);
    context_.flags_ = &flags_;
    if (argc > 0) arguments_.assign(argv + 1, argv + argc);
    const EarlyFlags early = early_flags(arguments_);
    context_.json_ = early.json;
    set_styles(early.color);
  }

  int run(const std::function<Answer(Context&)>& work) {
    install_signals();
    int code = 0;
    try {
      declare();
      flags_.parse(arguments_);
      if (std::optional<int> done = apply_common()) return *done;
      flags_.check_required();
      flags_.claim(context_.files_);
      prepare_abrupt_end();
      code = work(context_) == Answer::kYes ? 0 : kExitNo;
    } catch (...) {
      code = handle_exception();
    }
    if (interrupted()) code = kExitSignal + interrupt_signal();
    return finish(code);
  }

 private:
  void set_styles(report::ColorChoice color) {
    context_.out_style_ = report::style_of(STDOUT_FILENO, color);
    context_.err_style_ = report::style_of(STDERR_FILENO, color);
    log::set_color(context_.err_style_.color);
  }

  void declare() {
    if (info_.declare) info_.declare(flags_);
    if (!info_.output.value_name.empty()) {
      flags_.group("Output");
      flags_.text("--output", info_.output.value_name, &context_.output_, info_.output.help)
          .letter("-o")
          .default_text(info_.output.default_text)
          .brief();
      flags_.toggle("--force", &force_, "replace an existing output");
    }
    flags_.group("Common");
    flags_.toggle("--json", &context_.json_, "print one JSON document on stdout, also on failure")
        .brief();
    flags_
        .toggle("--quiet",
                &context_.quiet_,
                "errors only on stderr, and warnings of input that is not used")
        .letter("-q");
    flags_.toggle("--verbose", &verbose_, "more on stderr, with time").letter("-v");
    flags_.toggle("--no-progress", &context_.no_progress_, "no progress on stderr");
    flags_.choice("--color", {"auto", "always", "never"}, &color_, "colour of messages");
    flags_.toggle("--help", &help_, "all flags, with examples (-h: the common ones)").brief();
    flags_.toggle("-h", &brief_help_, "short help").hidden();
    flags_.toggle("--version", &version_, "version of this tool and of what it was built with");
    flags_.toggle("--flag-table", &flag_table_, "the flags as JSON").hidden();
    flags_.exclusive({"--quiet", "--verbose"});
  }

  /// Sets levels and styles. Returns an exit code when it has handled --help or --version.
  std::optional<int> apply_common() {
    set_styles(color_named(color_).value_or(report::ColorChoice::kAuto));
    log::set_level(context_.quiet_ ? log::Level::kError
                   : verbose_      ? log::Level::kVerbose
                                   : log::Level::kInfo);
    context_.overwrite_ = force_ ? Overwrite::kAllow : Overwrite::kRefuse;
    if (help_ || brief_help_) {
      write_stdout(help_ ? full_help() : brief_help());
      return 0;
    }
    if (flag_table_) {
      context_.json_ = true;
      context_.document_ = Json::object();
      context_.document_["usage"] = flags_.usage(info_.name);
      context_.document_["summary"] = info_.summary;
      context_.document_["flags"] = flags_.table();
      return finish(0);
    }
    if (version_) {
      std::vector<std::pair<std::string, std::string>> rows{{"compiler", compiler()},
                                                            {"commit", commit()}};
      if (info_.versions) {
        for (auto& row : info_.versions()) rows.push_back(std::move(row));
      }
      std::string text = fmt::format("{} {}\n", info_.name, ELIXIR_VERSION);
      Json document = Json::object();
      document["version"] = ELIXIR_VERSION;
      document["built_with"] = Json::object();
      for (const auto& row : rows) {
        text += fmt::format("{:<10} {}\n", row.first, row.second);
        document["built_with"][row.first] = row.second;
      }
      context_.document_ = std::move(document);
      context_.print(text);
      return finish(0);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string brief_help() const {
    return fmt::format("Usage: {}\n{}\n{}\n`{} --help` shows all flags and examples.\n",
                       flags_.usage(info_.name),
                       wrap_paragraphs(info_.summary),
                       flags_.help(Flags::Help::kBrief),
                       info_.name);
  }

  [[nodiscard]] std::string full_help() const {
    std::string text =
        fmt::format("Usage: {}\n{}", flags_.usage(info_.name), wrap_paragraphs(info_.summary));
    if (!info_.examples.empty()) text += "\nExamples:\n";
    for (const Example& example : info_.examples) {
      text += fmt::format("  {}\n      {}\n", example.command, example.meaning);
    }
    text += "\n" + flags_.help(Flags::Help::kFull);
    text +=
        "\nExit status:\n"
        "  0 done; 1 the answer is no; 2 usage or input is wrong; 3 this machine cannot\n"
        "  do it; 4 it failed while running; 70 a bug in Elixir; 130 or 143 interrupted\n";
    if (!info_.details.empty()) text += "\n" + wrap_paragraphs(info_.details);
    return text;
  }

  /// Turns the current exception into a diagnostic and an exit code.
  int handle_exception() {
    try {
      throw;
    } catch (const Interrupted&) {
      return kExitSignal + (interrupted() ? interrupt_signal() : SIGINT);
    } catch (const Error& error) {
      ErrorInfo info = error.info();
      if (info.code == ErrorCode::kInternal) info.help.emplace_back(kReport);
      return report_error(info);
    } catch (const std::bad_alloc&) {
      return report_error({ErrorCode::kOutOfMemory,
                           "out of memory on the host",
                           std::nullopt,
                           {},
                           {"close other programs, or use a machine with more memory"}});
    } catch (const std::exception& error) {
      return report_error({ErrorCode::kInternal,
                           fmt::format("unexpected failure: {}", error.what()),
                           std::nullopt,
                           {},
                           {kReport}});
    } catch (...) {
      return report_error(
          {ErrorCode::kInternal, "unexpected failure", std::nullopt, {}, {kReport}});
    }
  }

  int report_error(const ErrorInfo& info) {
    report::Diagnostic diagnostic = report::diagnostic_of(info);
    write_stderr(report::render(diagnostic, context_.err_style_));
    context_.diagnostics_.push_back(std::move(diagnostic));
    return exit_code_of(info.code);
  }

  /// Makes the documents for an abrupt end before the work, because a signal handler may not
  /// allocate.
  void prepare_abrupt_end() {
    if (!context_.json_) return;
    abrupt_documents_ = {dump(envelope(kExitSignal + SIGINT)),
                         dump(envelope(kExitSignal + SIGTERM))};
    for (std::size_t i = 0; i < abrupt_documents_.size(); ++i) {
      document_when_ended[i] = abrupt_documents_[i].c_str();
    }
  }

  /// Prints the JSON document and flushes. Returns the exit code of the process.
  int finish(int code) {
    try {
      if (context_.json_) {
        const std::string document = dump(envelope(code));
        for (auto& abrupt : document_when_ended) abrupt = nullptr;
        write_stdout(document);
      } else if (std::fflush(stdout) != 0 && errno != EPIPE) {
        throw Error(
            errno == ENOSPC ? ErrorCode::kDiskFull : ErrorCode::kIoError,
            fmt::format("cannot write to stdout: {}", std::generic_category().message(errno)));
      }
    } catch (...) {
      code = handle_exception();
    }
    return code;
  }

  [[nodiscard]] Json envelope(int code) const {
    Json diagnostics = Json::array();
    for (const report::Diagnostic& diagnostic : context_.diagnostics_) {
      diagnostics.push_back(report::to_json(diagnostic));
    }
    Json json = Json::object();
    json["schema"] = "elixir.result";
    json["schema_version"] = kSchemaVersion;
    json["tool"] = info_.name;
    json["status"] = code == 0 ? "ok" : code == kExitNo ? "no" : "error";
    json["exit_code"] = code;
    json["diagnostics"] = std::move(diagnostics);
    json["document"] = context_.document_;
    return json;
  }

  const ToolInfo& info_;
  Flags flags_;
  Context context_;
  std::vector<std::string> arguments_;
  std::array<std::string, 2> abrupt_documents_;
  std::string color_ = "auto";
  bool force_ = false, verbose_ = false, help_ = false, brief_help_ = false, version_ = false;
  bool flag_table_ = false;
};

int run_tool(const ToolInfo& info,
             int argc,
             char** argv,
             const std::function<Answer(Context&)>& work) {
  return ToolRun(info, argc, argv).run(work);
}

}  // namespace elixir::tools
