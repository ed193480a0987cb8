// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"

namespace elixir::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kFiles[] = {
    "config.json", kMetrics, "summary.json", "trace.json", "checkpoints"};

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
    if (!is_temporary_of(walk->path().filename().string(), "config.json")) return false;
  }
  return true;
}

/// "." for a name alone; of "." and of a root itself.
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
    fail_in_file(ErrorCode::kOutputUnwritable,
                 path,
                 fmt::format("cannot make the folders of `{}`: {}", path, error.message()));
  }
}

void check_writable(const fs::path& directory) {
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    fail_in_file(
        ErrorCode::kOutputUnwritable,
        directory.string(),
        fmt::format(
            "cannot write to directory `{}`: {}", directory.string(), std::strerror(errno)));
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

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), metrics_(std::exchange(other.metrics_, -1)) {}

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
      fail_in_file(ErrorCode::kOutputUnwritable,
                   path,
                   fmt::format("cannot make run directory `{}`: {}", path, error.message()));
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
    fail_in_file(ErrorCode::kOutputExists, path, "`" + path + "` exists and is not a directory");
  }
  check_writable(path);
  if (overwrite == Overwrite::kRefuse && !holds_nothing(path)) {
    fail_in_file(ErrorCode::kOutputExists,
                 path,
                 "run directory `" + path + "` is not empty",
                 {"go on with that run by --resume " + path, "replace it by --force"});
  }
}

RunDirectory RunDirectory::create(const std::string& path, Overwrite overwrite) {
  check(path, overwrite);
  make_parents(path);
  std::error_code error;
  fs::create_directory(path, error);
  if (error) {
    fail_in_file(ErrorCode::kOutputUnwritable,
                 path,
                 fmt::format("cannot make run directory `{}`: {}", path, error.message()));
  }
  RunDirectory directory(path);
  for (const char* name : kFiles) {
    remove_abandoned(directory.file(name));
    fs::remove_all(directory.file(name), error);
    if (error) {
      fail_in_file(ErrorCode::kOutputUnwritable,
                   path,
                   fmt::format("cannot remove `{}`: {}", directory.file(name), error.message()));
    }
  }
  return directory;
}

RunDirectory RunDirectory::open(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path + "/config.json", error)) {
    fail_in_file(ErrorCode::kFileNotFound,
                 path,
                 "`" + path + "` is not a run directory: no config.json",
                 {"pass the directory that an earlier elixir-train wrote (-o)"});
  }
  check_writable(path);
  RunDirectory directory(path);
  for (const char* name : kFiles) remove_abandoned(directory.file(name));
  return directory;
}

void RunDirectory::write(const std::string& name, std::string_view bytes) const {
  write_file(file(name), bytes, Overwrite::kAllow);
}

void RunDirectory::append_metrics(const Json& line) {
  const std::string path = file(kMetrics);
  if (metrics_ < 0) {
    metrics_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
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
  fail_in_file(full ? ErrorCode::kDiskFull : ErrorCode::kIoError,
               path,
               fmt::format("cannot append to `{}`: {}", path, std::strerror(error)));
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
    if (parsed["step"].get<std::int64_t>() <= step) kept += line + "\n";
  }
  write_file(path, kept, Overwrite::kAllow);
}

}  // namespace elixir::train
