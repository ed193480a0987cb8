// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_directory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "train/run/ranks/last_tasks.h"

namespace elixir::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kFiles[] = {
    "config.json", kMetrics, "summary.json", "trace.json", kCheckpoints, kLastTasks};

/// Whether `name` is a temporary name of files.h: TARGET.tmp-PID-COUNT.
bool is_temporary_of(const std::string& name, const std::string& target) {
  const std::string prefix = target + ".tmp-";
  return name.compare(0, prefix.size(), prefix) == 0 &&
         name.find_first_not_of("0123456789-", prefix.size()) == std::string::npos;
}

bool holds_nothing(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator walk(path, error), end; !error && walk != end;
       walk.increment(error)) {
    const std::string name = walk->path().filename().string();
    // What a process leaves when it is killed before it has written its config.json.
    const bool leftover =
        name == RunLock::kFile || is_temporary_of(name, "config.json") ||
        (name == kCheckpoints && fs::is_directory(walk->path()) && fs::is_empty(walk->path()));
    if (!leftover) return false;
  }
  return true;
}

Error cannot_make(const std::string& path, const std::error_code& error) {
  return file_error(ErrorCode::kOutputUnwritable,
                    path,
                    "cannot make run directory `{}`: {}",
                    path,
                    error.message());
}

/// The parent directory; "." for a plain name. "." and a root are their own parents.
fs::path parent_of(const fs::path& path) {
  fs::path normal = path.lexically_normal();
  if (!normal.has_filename() && normal.has_relative_path()) normal = normal.parent_path();
  return normal.has_parent_path() ? normal.parent_path() : fs::path(".");
}

void make_parents(const std::string& path) {
  const fs::path parents = fs::path(path).parent_path();
  std::error_code error;
  if (!parents.empty()) fs::create_directories(parents, error);
  if (error) {
    throw file_error(ErrorCode::kOutputUnwritable,
                     path,
                     "cannot make the folders of `{}`: {}",
                     path,
                     error.message());
  }
}

bool is_run(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path + "/config.json", error);
}

std::string draw_run_id() {
  std::array<unsigned char, 16> bytes{};
  require(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "the system gives no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

void make_checkpoints(const std::string& path) {
  const std::string directory = path + "/" + kCheckpoints;
  std::error_code error;
  fs::create_directory(directory, error);
  if (error) {
    const bool full = error == std::errc::no_space_on_device;
    throw file_error(full ? ErrorCode::kDiskFull : ErrorCode::kOutputUnwritable,
                     directory,
                     "cannot make directory `{}`: {}",
                     directory,
                     error.message());
  }
  sync_directory(path);
}

void check_unused(const std::string& path, Overwrite overwrite) {
  if (overwrite == Overwrite::kAllow || holds_nothing(path)) return;
  std::vector<std::string> help;
  if (is_run(path)) help.push_back("go on with that run by --resume " + path);
  help.emplace_back("replace a run's files in it by --force, or choose another with -o");
  throw file_error(ErrorCode::kOutputExists, path, "run directory `{}` is not empty", path)
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

}  // namespace

void remove_abandoned(const std::string& path) {
  const fs::path target(path);
  const fs::path directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator walk(directory, error), end; !error && walk != end;
       walk.increment(error)) {
    if (is_temporary_of(walk->path().filename().string(), target.filename().string())) {
      found.push_back(walk->path());
    }
  }
  for (const fs::path& each : found) fs::remove(each, error);
}

RunDirectory::RunDirectory(std::string path, RunLock lock)
    : path_(std::move(path)), lock_(std::move(lock)) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) fail_gone(path_, "was removed");
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      run_id_(std::move(other.run_id_)),
      lock_(std::move(other.lock_)),
      begun_(other.begun_),
      device_(other.device_),
      inode_(other.inode_),
      metrics_(std::exchange(other.metrics_, -1)) {}

RunDirectory::~RunDirectory() {
  if (metrics_ >= 0) ::close(metrics_);
}

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
      throw cannot_make(path, error);
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
  RunLock::check_free(path);
  check_unused(path, overwrite);
}

RunDirectory RunDirectory::create(const std::string& path, Overwrite overwrite) {
  check(path, overwrite);
  make_parents(path);
  std::error_code error;
  const bool made = fs::create_directory(path, error);
  if (error) {
    throw cannot_make(path, error);
  }
  if (made) {
    const fs::path parent = fs::absolute(path).lexically_normal().parent_path();
    sync_directory(parent.empty() ? "." : parent.string());
  }
  RunDirectory directory(path, RunLock::acquire(path));
  check_unused(path, overwrite);  // again, because another process may have used it meanwhile
  directory.run_id_ = draw_run_id();
  for (const char* name : kFiles) {
    remove_abandoned(directory.file(name));
    fs::remove_all(directory.file(name), error);
    if (error) {
      throw file_error(ErrorCode::kOutputUnwritable,
                       path,
                       "cannot remove `{}`: {}",
                       directory.file(name),
                       error.message());
    }
  }
  try {
    make_checkpoints(path);
  } catch (...) {
    directory.abandon();
    throw;
  }
  return directory;
}

void RunDirectory::check_run(const std::string& path) {
  if (is_run(path)) return;
  throw file_error(
      ErrorCode::kFileNotFound, path, "`{}` is not a run directory: no config.json", path)
      .help("pass the directory that an earlier elixir-train wrote (-o)");
}

RunDirectory RunDirectory::open(const std::string& path) {
  check_run(path);
  check_writable(path);
  RunDirectory directory(path, RunLock::acquire(path));
  directory.begun_ = true;
  directory.run_id_ = JsonDocument::load(directory.file("config.json"))
                          ->root("elixir.config", 1)
                          .at("run_id")
                          .string();
  for (const char* name : kFiles) remove_abandoned(directory.file(name));
  std::error_code error;
  if (!fs::is_directory(directory.checkpoints(), error)) make_checkpoints(path);
  return directory;
}

void RunDirectory::abandon() {
  if (begun_) return;
  std::error_code ignored;
  fs::remove(checkpoints(), ignored);
  fs::remove(file(RunLock::kFile), ignored);
  fs::remove(path_, ignored);
}

void RunDirectory::check_present() const {
  struct stat status {};
  const auto is_directory = [&](const std::string& path) {
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  };
  if (!is_directory(path_)) fail_gone(path_, "was removed");
  if (status.st_dev != device_ || status.st_ino != inode_) fail_gone(path_, "was replaced");
  if (!is_directory(checkpoints())) {
    // The run may have gone since the first question.
    if (!is_directory(path_)) fail_gone(path_, "was removed");
    fail_gone(checkpoints(), "was removed or replaced");
  }
  if (metrics_ >= 0 && (::fstat(metrics_, &status) != 0 || status.st_nlink == 0)) {
    fail_gone(file(kMetrics), "was removed");
  }
}

void RunDirectory::write(const std::string& name, std::string_view bytes) const {
  write_file(file(name), bytes, Overwrite::kAllow);
}

void RunDirectory::write_config(const Json& meta,
                                const std::string& program_fingerprint,
                                const Json& choices) {
  Json config = Json::object();
  config["schema"] = "elixir.config";
  config["schema_version"] = kSchemaVersion;
  config["meta"] = meta;
  config["run_id"] = run_id_;
  config["program_fingerprint"] = program_fingerprint;
  config["options"] = choices;
  try {
    write("config.json", dump(config));
  } catch (const Error&) {
    abandon();
    throw;
  }
  begun_ = true;
}

void RunDirectory::append_metrics(const Json& line) {
  check_present();
  const std::string path = file(kMetrics);
  if (metrics_ < 0) {
    metrics_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  Json whole = Json::object();
  whole["run_id"] = run_id_;
  whole.update(line);
  const std::string text = whole.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string_view rest = text;
  while (metrics_ >= 0 && !rest.empty()) {
    const ssize_t written = ::write(metrics_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (rest.empty()) return;
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw file_error(full ? ErrorCode::kDiskFull : ErrorCode::kIoError,
                   path,
                   "cannot append to `{}`: {}",
                   path,
                   std::strerror(error));
}

void RunDirectory::cut_metrics(std::int64_t step) {
  const std::string path = file(kMetrics);
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (metrics_ >= 0) ::close(std::exchange(metrics_, -1));
  const std::string text = read_file(path);
  std::string kept;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object() || !parsed.contains("step") || !parsed["step"].is_number_integer()) {
      continue;
    }
    if (parsed.value("run_id", Json()) != Json(run_id_)) {
      throw file_error(ErrorCode::kMixedRuns, path, "`{}` has lines of another run", path)
          .help("put each run's files into a directory of its own");
    }
    if (parsed["step"].get<std::int64_t>() <= step) kept += line + "\n";
  }
  write_file(path, kept, Overwrite::kAllow);
}

}  // namespace elixir::train
