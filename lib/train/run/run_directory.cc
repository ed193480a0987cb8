// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/log.h"
#include "train/run/checkpoint.h"
#include "train/run/ranks/last_tasks.h"

namespace elixir::train {
namespace {

namespace fs = std::filesystem;

using Kind = Directory::Kind;

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kFiles[] = {
    kConfigFile, kMetrics, "summary.json", "trace.json", kCheckpoints, kLastTasks};

bool holds_nothing(const Directory& directory) {
  // What a process leaves when it is killed before it has written its config.json.
  const std::vector<std::string> names = directory.names();
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    if (name == kCheckpoints && directory.kind_of(name) == Kind::kDirectory) {
      return directory.find(name)->names().empty();
    }
    return name == RunLock::kFile || name == RunLock::kRanksFile ||
           is_temporary_of(name, kConfigFile);
  });
}

/// The parent directory; "." for a plain name. "." and a root are their own parents.
fs::path parent_of(const fs::path& path) {
  fs::path normal = path.lexically_normal();
  if (!normal.has_filename() && normal.has_relative_path()) normal = normal.parent_path();
  return normal.has_parent_path() ? normal.parent_path() : fs::path(".");
}

void check_unused(const Directory& directory, Overwrite overwrite) {
  if (overwrite == Overwrite::kAllow || holds_nothing(directory)) return;
  std::vector<std::string> help;
  if (directory.kind_of(kConfigFile) == Kind::kFile) {
    help.push_back("go on with that run by --resume " + directory.path());
  }
  help.emplace_back("replace a run's files in it by --force, or choose another with -o");
  throw file_error(ErrorCode::kOutputExists,
                   directory.path(),
                   "run directory `{}` is not empty",
                   directory.path())
      .help(std::move(help));
}

[[noreturn]] void fail_gone(const std::string& path, const char* what) {
  throw file_error(ErrorCode::kIoError, path, "`{}` {} while the run was using it", path, what);
}

void check_writable(const fs::path& directory) {
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    throw file_error(ErrorCode::kOutputUnwritable,
                     directory.string(),
                     "cannot write to directory `{}`: {}",
                     directory.string(),
                     std::strerror(errno));
  }
}

/// nullopt: it is not whole. It may be hostile too.
std::optional<Json> parsed_line(std::string line) {
  constexpr JsonLimits kLineLimits{.values = 1000};
  try {
    return JsonDocument::parse(std::move(line), kMetrics, kLineLimits)->root().raw();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

RunDirectory::RunDirectory(Directory directory, std::string attempt)
    : directory_(std::move(directory)),
      attempt_{std::move(attempt), std::nullopt},
      lock_(RunLock::lead(directory_, attempt_.id)) {}

std::vector<std::string> RunDirectory::files_of(const std::string& path) {
  std::vector<std::string> files;
  for (const char* name : kFiles) files.push_back(path + "/" + name);
  return files;
}

void RunDirectory::check(const std::string& path, Overwrite overwrite) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory) {
      throw file_error(ErrorCode::kOutputUnwritable,
                       path,
                       "cannot make run directory `{}`: {}",
                       path,
                       error.message());
    }
    fs::path parent = parent_of(path);
    while (fs::status(parent, error).type() == fs::file_type::not_found &&
           parent != parent_of(parent)) {
      parent = parent_of(parent);
    }
    check_writable(parent);
    return;
  }
  if (!fs::is_directory(status)) {
    throw file_error(ErrorCode::kOutputExists, path, "`{}` exists and is not a directory", path);
  }
  check_writable(path);
  const Directory directory = Directory::open(path);
  RunLock::check_free(directory);
  check_unused(directory, overwrite);
}

RunDirectory RunDirectory::create(const std::string& path, Overwrite overwrite) {
  check(path, overwrite);
  make_directories(path);
  RunDirectory run(Directory::open(path), draw_id());
  check_unused(run.directory_, overwrite);  // again, because another process may have used it
  run.identity_.run_id = draw_id();
  for (const char* name : kFiles) {
    run.directory_.remove_abandoned(name);
    run.directory_.remove(name);
  }
  try {
    run.checkpoints_ = run.directory_.make(kCheckpoints);
  } catch (...) {
    run.abandon();
    throw;
  }
  return run;
}

RunDirectory RunDirectory::open(const std::string& path) {
  Directory directory = Directory::open(path);
  static_cast<void>(read_config(directory));  // before a lock file is made in what is no run
  check_writable(path);
  RunDirectory run(std::move(directory), draw_id());
  run.begun_ = true;
  run.identity_ = read_config(run.directory_).identity;
  for (const char* name : kFiles) run.directory_.remove_abandoned(name);
  run.checkpoints_ = run.directory_.make(kCheckpoints);
  remove_leftovers(*run.checkpoints_);
  return run;
}

void RunDirectory::abandon() {
  if (begun_) return;
  // Only if they are empty, and still the same.
  ::unlinkat(directory_.descriptor(), kCheckpoints, AT_REMOVEDIR);
  for (const char* name : {RunLock::kFile, RunLock::kRanksFile}) {
    ::unlinkat(directory_.descriptor(), name, 0);
  }
  if (directory_.is_in_place()) ::rmdir(path().c_str());
}

void RunDirectory::check_present() const {
  if (!directory_.is_in_place()) {
    std::error_code ignored;
    fail_gone(path(), fs::exists(path(), ignored) ? "was replaced" : "was removed");
  }
  if (!checkpoints_->is_in_place()) {
    fail_gone(checkpoints_->path(), "was removed or replaced");
  }
  struct stat status {};
  if (metrics_.is_open() && (::fstat(metrics_.get(), &status) != 0 || status.st_nlink == 0)) {
    fail_gone(directory_.file(kMetrics), "was removed");
  }
}

void RunDirectory::write(const std::string& name, std::string_view bytes) const {
  directory_.write(name, bytes, Overwrite::kAllow);
}

void RunDirectory::begin(const std::optional<Attempt::Parent>& from,
                         const std::string& program_fingerprint,
                         const RunChoices& choices,
                         const Json& meta) {
  const std::int64_t step = from ? from->step : 0;
  const std::optional<std::string> metrics = metrics_until(step);
  attempt_.parent = from;
  identity_.attempts.push_back(attempt_);
  try {
    write(kConfigFile, dump(config_document(identity_, program_fingerprint, choices, meta)));
  } catch (const Error&) {
    abandon();
    throw;
  }
  begun_ = true;
  // From here on a killed attempt is in config.json, so that what follows is done by the next one.
  metrics_.close();
  if (metrics) write(kMetrics, *metrics);
  for (const std::string& moved : set_aside(*checkpoints_, step, attempt_.id)) {
    log::info(fmt::format("{} is no longer used, and stays as {}",
                          moved.substr(0, moved.find('.')),
                          checkpoints_->file(moved)));
  }
}

void RunDirectory::append_metrics(const Json& line) {
  check_present();
  if (!metrics_.is_open()) {
    metrics_ = directory_.open_to_change(kMetrics, O_WRONLY | O_APPEND);
  }
  Json whole = Json::object();
  whole["run_id"] = run_id();
  whole.update(line);
  const std::string text = whole.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_all(metrics_, directory_.file(kMetrics), [&](const Sink& sink) { sink(text); });
}

std::optional<std::string> RunDirectory::metrics_until(std::int64_t step) const {
  if (directory_.kind_of(kMetrics) == Kind::kNothing) return std::nullopt;
  const std::string path = directory_.file(kMetrics);
  const std::string text = directory_.read(kMetrics);
  std::string kept;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::optional<Json> parsed = parsed_line(line);
    if (!parsed || !parsed->is_object() || !parsed->contains("step") ||
        !(*parsed)["step"].is_number_integer()) {
      continue;
    }
    if (parsed->value("run_id", Json()) != Json(run_id())) {
      throw file_error(ErrorCode::kMixedRuns, path, "`{}` has lines of another run", path)
          .help("put each run's files into a directory of its own");
    }
    if ((*parsed)["step"].get<std::int64_t>() <= step) kept += line + "\n";
  }
  return kept;
}

}  // namespace elixir::train
