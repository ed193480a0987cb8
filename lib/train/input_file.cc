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

InputFile::InputFile(std::string path, Descriptor opened) : path_(std::move(path)) {
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw file_error(ErrorCode::kFileUnreadable, path_, "`{}` is not a regular file", path_);
  }
  size_bytes_ = static_cast<std::int64_t>(status.st_size);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (kept_descriptors.fetch_add(1) < kKeptDescriptors) {
    kept_ = std::move(opened);
  } else {
    --kept_descriptors;
  }
}

InputFile::~InputFile() {
  if (kept_.is_open()) --kept_descriptors;
}

std::shared_ptr<const InputFile> InputFile::open(const std::string& path) {
  Descriptor opened(::open(path.c_str(), kOpenFlags));
  if (!opened.is_open()) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      throw file_error(ErrorCode::kFileNotFound, path, "no such file: `{}`", path);
    }
    throw file_error(
        ErrorCode::kFileUnreadable, path, "cannot read `{}`: {}", path, std::strerror(error));
  }
  return std::shared_ptr<InputFile>(new InputFile(path, std::move(opened)));
}

std::shared_ptr<const InputFile> InputFile::open(const Directory& directory,
                                                 const std::string& name) {
  return std::shared_ptr<InputFile>(new InputFile(directory.file(name), directory.open_file(name)));
}

Descriptor InputFile::opened_again() const {
  Descriptor opened(::open(path_.c_str(), kOpenFlags));
  if (!opened.is_open()) {
    throw file_error(
        ErrorCode::kIoError, path_, "cannot read `{}` any more: {}", path_, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) {
    throw file_error(ErrorCode::kIoError, path_, "`{}` was replaced while it was in use", path_);
  }
  return opened;
}

void InputFile::read(std::int64_t offset_bytes, void* to, std::size_t bytes) const {
  const Descriptor again = kept_.is_open() ? Descriptor() : opened_again();
  const int from = kept_.is_open() ? kept_.get() : again.get();
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

std::string digest_of_file(const InputFile& file, OnInterrupt on_interrupt) {
  constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;
  const auto blocks = static_cast<std::size_t>(ceil_div(file.size_bytes(), kBlockBytes));
  std::vector<std::string> digests(blocks);
  in_parallel(blocks, [&](std::size_t block) {
    if (on_interrupt == OnInterrupt::kThrow) throw_if_interrupted();
    const std::int64_t begin = static_cast<std::int64_t>(block) * kBlockBytes;
    std::string part(static_cast<std::size_t>(std::min(kBlockBytes, file.size_bytes() - begin)),
                     '\0');
    file.read(begin, part.data(), part.size());
    digests[block] = sha256_hex(part);
  });
  Sha256 all;
  for (const std::string& digest : digests) all.update(digest);
  return all.hex();
}

}  // namespace elixir::train
