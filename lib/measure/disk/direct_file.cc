// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/disk/direct_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::measure {
namespace {

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

[[noreturn]] void unwritable(const std::string& directory, int number) {
  throw Error(
      ErrorCode::kOutputUnwritable, "cannot make a file in `{}`: {}", directory, errno_text(number))
      .help("name a directory on the disk to measure that you may write to: --disk DIR");
}

/// Opens a file that has no name any more.
int open_unnamed(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) return fd;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) unwritable(directory, errno);
  std::string name = directory;
  name += "/.elixir-bench-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) unwritable(directory, errno);
  ::unlink(name.c_str());
  return named;
}

}  // namespace

void check_directory(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) unwritable(directory, errno);
  if (!S_ISDIR(status.st_mode)) unwritable(directory, ENOTDIR);
  ::close(open_unnamed(directory));
}

DirectFile::DirectFile(const std::string& directory) : fd_(open_unnamed(directory)) {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags >= 0 && ::fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0) return;
  const int number = errno;
  ::close(fd_);
  throw Error(ErrorCode::kMissingFeature,
              "the file system of `{}` has no direct transfers ({}): name a directory "
              "on a disk",
              directory,
              errno_text(number));
}

DirectFile::~DirectFile() {
  ::close(fd_);
}

std::int64_t DirectFile::available_bytes() const {
  struct statvfs status {};
  if (::fstatvfs(fd_, &status) != 0) return 0;
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

void DirectFile::sync() const {
  if (::fdatasync(fd_) != 0) {
    throw Error(ErrorCode::kIoError, "cannot sync a file: {}", errno_text(errno));
  }
}

}  // namespace elixir::measure
