// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/units.h"

namespace elixir::train {
namespace {

/// Limit on open descriptors, because data may be thousands of small files, and a process has about
/// a thousand descriptors.
constexpr int kKeptDescriptors = 256;
std::atomic<int> kept_descriptors{0};

// O_NONBLOCK, because opening a pipe without a writer must not block.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

}  // namespace

InputFile::InputFile(std::string path, int descriptor, std::int64_t size_bytes)
    : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}

InputFile::~InputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  --kept_descriptors;
}

std::shared_ptr<const InputFile> InputFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), kOpenFlags);
  if (descriptor < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      throw file_error(ErrorCode::kFileNotFound, path, "no such file: `{}`", path);
    }
    throw file_error(
        ErrorCode::kFileUnreadable, path, "cannot read `{}`: {}", path, std::strerror(error));
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw file_error(ErrorCode::kFileUnreadable, path, "`{}` is not a regular file", path);
  }
  const bool keeps = kept_descriptors.fetch_add(1) < kKeptDescriptors;
  if (!keeps) {
    --kept_descriptors;
    ::close(descriptor);
  }
  std::shared_ptr<InputFile> file(
      new InputFile(path, keeps ? descriptor : -1, static_cast<std::int64_t>(status.st_size)));
  file->device_ = status.st_dev;
  file->inode_ = status.st_ino;
  return file;
}

int InputFile::descriptor() const {
  if (descriptor_ >= 0) return descriptor_;
  const int opened = ::open(path_.c_str(), kOpenFlags);
  if (opened < 0) {
    throw file_error(
        ErrorCode::kIoError, path_, "cannot read `{}` any more: {}", path_, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(opened, &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) {
    ::close(opened);
    throw file_error(ErrorCode::kIoError, path_, "`{}` was replaced while it was in use", path_);
  }
  return opened;
}

void InputFile::read(std::int64_t offset_bytes, void* to, std::size_t bytes) const {
  const int from = descriptor();
  std::size_t done = 0;
  ssize_t got = 1;
  while (done < bytes && got != 0) {
    got = ::pread(from,
                  static_cast<char*>(to) + done,
                  bytes - done,
                  static_cast<off_t>(offset_bytes) + static_cast<off_t>(done));
    if (got < 0 && errno != EINTR) break;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  const int error = got < 0 ? errno : 0;
  auto end = offset_bytes + static_cast<std::int64_t>(done);
  struct stat status {};
  if (done < bytes && error == 0 && ::fstat(from, &status) == 0) {
    end = std::min(end, static_cast<std::int64_t>(status.st_size));
  }
  if (descriptor_ < 0) ::close(from);
  if (done == bytes) return;
  if (error != 0) {
    throw error_at_byte(
        ErrorCode::kIoError, path_, end, "cannot read `{}`: {}", path_, std::strerror(error));
  }
  throw error_at_byte(
      ErrorCode::kIoError,
      path_,
      end,
      "`{}` ends at byte {}; it had {} bytes when it was opened, so another process has cut it",
      path_,
      end,
      size_bytes_);
}

std::string digest_of_file(const std::string& path, OnInterrupt on_interrupt) {
  constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;
  const auto file = InputFile::open(path);
  const auto blocks = static_cast<std::size_t>(ceil_div(file->size_bytes(), kBlockBytes));
  std::vector<std::string> digests(blocks);
  in_parallel(blocks, [&](std::size_t block) {
    if (on_interrupt == OnInterrupt::kThrow) throw_if_interrupted();
    const std::int64_t begin = static_cast<std::int64_t>(block) * kBlockBytes;
    std::string part(static_cast<std::size_t>(std::min(kBlockBytes, file->size_bytes() - begin)),
                     '\0');
    file->read(begin, part.data(), part.size());
    digests[block] = sha256_hex(part);
  });
  Sha256 all;
  for (const std::string& digest : digests) all.update(digest);
  return all.hex();
}

}  // namespace elixir::train
