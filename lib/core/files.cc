// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "core/directory.h"
#include "core/error.h"
#include "core/file_error.h"

namespace elixir {
namespace {

namespace stdfs = std::filesystem;

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

/// Of `path`, whose directory cannot be used; reads errno.
Error unwritable_below(const std::string& path, const std::string& directory) {
  return file_error(ErrorCode::kOutputUnwritable,
                    path,
                    "cannot write `{}`: directory `{}`: {}",
                    path,
                    directory,
                    errno_text(errno));
}

std::string directory_of(const std::string& path) {
  const std::string directory = stdfs::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

enum class TargetKind { kInDirectory, kDirect };

/// "give --force to replace it, or choose another name with -o"
std::string help_for_existing(std::string_view flag) {
  const std::string text = "give --force to replace it";
  return flag.empty() ? text : fmt::format("{}, or choose another name with {}", text, flag);
}

/// Finds out what `path` is. Throws when it cannot be written. `flag` names it; empty: none does.
TargetKind inspect(const std::string& path, Overwrite overwrite, std::string_view flag) {
  if (path.empty())
    throw file_error(ErrorCode::kOutputUnwritable, path, "the output file name is empty");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      throw file_error(
          ErrorCode::kOutputUnwritable, path, "cannot write `{}`: it is a directory", path)
          .help("name a file in it, e.g. `{}`", (stdfs::path(path) / "out.json").string());
    }
    if (!S_ISREG(status.st_mode)) return TargetKind::kDirect;
    if (overwrite == Overwrite::kRefuse) {
      throw file_error(ErrorCode::kOutputExists, path, "`{}` exists already", path)
          .help("{}", help_for_existing(flag));
    }
  } else if (errno != ENOENT) {
    throw file_error(
        ErrorCode::kOutputUnwritable, path, "cannot write `{}`: {}", path, errno_text(errno));
  }
  const std::string directory = directory_of(path);
  if (::stat(directory.c_str(), &status) != 0) {
    throw unwritable_below(path, directory).help("create it first: mkdir -p '{}'", directory);
  }
  if (!S_ISDIR(status.st_mode)) {
    throw file_error(ErrorCode::kOutputUnwritable,
                     path,
                     "cannot write `{}`: `{}` is not a directory",
                     path,
                     directory);
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    throw unwritable_below(path, directory)
        .help(flag.empty() ? std::string("choose a directory you may write to")
                           : fmt::format("choose a directory you may write to with {}", flag));
  }
  return TargetKind::kInDirectory;
}

/// The place of a file, links followed.
struct Target {
  Directory directory;
  std::string name;
};
Target target_of(const std::string& path) {
  std::error_code ignored;
  const bool is_link = stdfs::is_symlink(path, ignored);
  const std::string target = is_link ? stdfs::canonical(path).string() : path;
  return {Directory::open(directory_of(target)), stdfs::path(target).filename().string()};
}

}  // namespace

void check_output(const std::string& path, Overwrite overwrite, std::string_view flag) {
  if (inspect(path, overwrite, flag) == TargetKind::kDirect) return;
  // Permissions do not say everything: /proc takes no new files.
  const Target target = target_of(path);
  target.directory.check_can_make(target.name);
}

void write_file(const std::string& path, std::string_view bytes, Overwrite overwrite) {
  write_file_streamed(path, overwrite, [&](const Sink& sink) { sink(bytes); });
}

void write_file_streamed(const std::string& path,
                         Overwrite overwrite,
                         const std::function<void(const Sink&)>& produce) {
  if (inspect(path, overwrite, "") == TargetKind::kDirect) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) throw change_error(path, errno);
    write_all(file, path, produce);
    if (file.close() != 0) throw change_error(path, errno);
    return;
  }
  const Target target = target_of(path);
  target.directory.write_streamed(target.name, overwrite, produce);
}

std::vector<std::string> help_for_missing(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (stdfs::directory_iterator at(directory_of(path), error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::vector<std::string> help;
  for (const std::string& name : nearest(stdfs::path(path).filename().string(), names)) {
    help.push_back(
        fmt::format("did you mean `{}`?", (stdfs::path(path).parent_path() / name).string()));
  }
  return help;
}

std::string read_file(const std::string& path, std::uint64_t most_bytes) {
  // O_NONBLOCK, because opening a pipe must not wait for a writer. Regular files ignore it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open()) return read_all(file, path, most_bytes);
  if (errno == ENOENT || errno == ENOTDIR) {
    throw file_error(ErrorCode::kFileNotFound, path, "`{}` does not exist", path)
        .help(help_for_missing(path));
  }
  throw file_error(
      ErrorCode::kFileUnreadable, path, "cannot read `{}`: {}", path, errno_text(errno));
}

}  // namespace elixir
