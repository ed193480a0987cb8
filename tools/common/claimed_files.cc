// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/claimed_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::tools {
namespace {

namespace fs = std::filesystem;

/// Both spellings if they differ: "`a/../b`, which is `b`".
std::string spelled(const std::string& path, const std::string& other) {
  return path == other ? fmt::format("`{}`", path)
                       : fmt::format("`{}`, which is `{}`", path, other);
}

[[noreturn]] void refuse(std::string message, const std::string& who) {
  throw Error(ErrorCode::kConflictingFlags, std::move(message))
      .help("name another file with {}", who);
}

}  // namespace

std::optional<ClaimedFiles::File> ClaimedFiles::file_at(const std::string& who,
                                                        const std::string& path) {
  if (path.empty() || path == "-") return std::nullopt;
  File file;
  file.who = who;
  file.path = path;
  std::error_code error;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return std::nullopt;
    file.exists = true;
    file.device = static_cast<std::uint64_t>(status.st_dev);
    file.inode = static_cast<std::uint64_t>(status.st_ino);
    file.canonical = fs::canonical(path, error).string();
    return file;
  }
  const fs::path name(path);
  const fs::path parent = name.has_parent_path() ? name.parent_path() : fs::path(".");
  const fs::path directory = fs::canonical(parent, error);
  if (error) return std::nullopt;  // opening it gives the right error
  file.canonical = (directory / name.filename()).string();
  return file;
}

bool ClaimedFiles::same(const File& a, const File& b) {
  if (a.exists != b.exists) return false;
  if (!a.exists) return a.canonical == b.canonical;
  return a.device == b.device && a.inode == b.inode;
}

bool ClaimedFiles::is_within(const File& file, const File& directory) {
  if (same(file, directory)) return true;
  const std::string prefix = directory.canonical + "/";
  return file.canonical.compare(0, prefix.size(), prefix) == 0;
}

void ClaimedFiles::reads(const std::string& who, const std::string& path) {
  std::optional<File> file = file_at(who, path);
  if (!file || !file->exists) return;
  for (const File& output : outputs_) {
    if (!same(*file, output)) continue;
    refuse(fmt::format(
               "{} would replace {}, which {} reads", output.who, spelled(output.path, path), who),
           output.who);
  }
  for (const File& directory : directories_) {
    if (!is_within(*file, directory)) continue;
    refuse(fmt::format("{} would remove `{}`, and with it `{}`, which {} reads",
                       directory.who,
                       directory.path,
                       path,
                       who),
           directory.who);
  }
  inputs_.push_back(std::move(*file));
}

void ClaimedFiles::writes(const std::string& who, const std::string& path) {
  std::optional<File> file = file_at(who, path);
  if (!file) return;
  for (const File& input : inputs_) {
    if (!same(*file, input)) continue;
    refuse(fmt::format(
               "{} would replace {}, which {} reads", who, spelled(path, input.path), input.who),
           who);
  }
  for (const File& output : outputs_) {
    if (!same(*file, output)) continue;
    refuse(fmt::format(
               "{} and {} name the same file, {}", output.who, who, spelled(path, output.path)),
           who);
  }
  for (const File& directory : directories_) {
    if (!is_within(*file, directory)) continue;
    refuse(fmt::format(
               "{} names `{}`, which lies in `{}` of {}", who, path, directory.path, directory.who),
           who);
  }
  outputs_.push_back(std::move(*file));
}

void ClaimedFiles::replaces_directory(const std::string& who, const std::string& path) {
  std::optional<File> directory = file_at(who, path);
  if (!directory) return;
  for (const File& input : inputs_) {
    if (!is_within(input, *directory)) continue;
    refuse(fmt::format("{} would remove `{}`, and with it `{}`, which {} reads",
                       who,
                       path,
                       input.path,
                       input.who),
           who);
  }
  for (const File& output : outputs_) {
    if (!is_within(output, *directory)) continue;
    refuse(
        fmt::format("{} names `{}`, which lies in `{}` of {}", output.who, output.path, path, who),
        output.who);
  }
  directories_.push_back(std::move(*directory));
}

}  // namespace elixir::tools
