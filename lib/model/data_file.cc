// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "model/data_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/crc32.h"
#include "core/files.h"

namespace elixir::model {

std::shared_ptr<const DataFile> DataFile::open(const std::string& path) {
  // O_NONBLOCK, because opening a pipe must not wait for a writer. Regular files ignore it.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int reason = errno;
    Error error(reason == ENOENT ? ErrorCode::kFileNotFound : ErrorCode::kFileUnreadable,
                SourcePos{.file = path},
                "cannot open the model: {}",
                std::strerror(reason));
    if (reason == ENOENT) error.help(help_for_missing(path));
    throw error;
  }
  return std::make_shared<const DataFile>(std::move(file), path);
}

DataFile::DataFile(Descriptor file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {
  check_regular(file_, path_);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw damage(0, "its size cannot be asked for");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

Error DataFile::damage(std::uint64_t offset, std::string message) const {
  return Error(ErrorCode::kTruncatedArchive,
               SourcePos{.file = path_,
                         .pointer = "",
                         .line = std::nullopt,
                         .byte_offset = static_cast<long long>(offset)},
               std::move(message))
      .help("copy or export the file again");
}

void DataFile::read(std::uint64_t offset, std::uint64_t bytes, void* buffer) const {
  std::uint64_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(file_.get(),
                              static_cast<char*>(buffer) + done,
                              bytes - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw damage(offset + done, "the file ends inside a tensor");
    done += static_cast<std::uint64_t>(n);
  }
}

void DataFile::check(const Record& record, std::uint64_t bytes) const {
  if (record.offset > bytes_ || record.bytes > bytes_ - record.offset) {
    throw damage(record.offset, "record '" + record.name + "' lies outside the file");
  }
  if (record.bytes >= bytes) return;
  throw damage(record.offset,
               fmt::format("record '{}' holds {} bytes, the tensor in it needs {}",
                           record.name,
                           record.bytes,
                           bytes));
}

std::uint32_t DataFile::checksum_of(std::uint32_t before,
                                    std::uint64_t offset,
                                    std::uint64_t bytes) const {
  std::uint32_t checksum = before;
  std::string piece;
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(bytes - done, std::uint64_t{1} << 20));
    read(offset + done, piece.size(), piece.data());
    checksum = crc32(checksum, piece.data(), piece.size());
  }
  return checksum;
}

void DataFile::read(const Record& record,
                    std::uint64_t first,
                    std::uint64_t bytes,
                    void* buffer) const {
  check(record, first);
  check(record, first + bytes);
  read(record.offset + first, bytes, buffer);
  if (record.checksum == 0) return;
  if (bytes < record.bytes) {
    const std::lock_guard lock(mutex_);
    if (checked_.count(record.offset) != 0) return;
  }
  const std::uint64_t end = first + bytes;
  std::uint32_t checksum = checksum_of(0, record.offset, first);
  checksum = crc32(checksum, buffer, bytes);
  checksum = checksum_of(checksum, record.offset + end, record.bytes - end);
  if (checksum != record.checksum) {
    throw damage(record.offset, "record '" + record.name + "' is damaged: its checksum differs");
  }
  const std::lock_guard lock(mutex_);
  checked_.insert(record.offset);
}

}  // namespace elixir::model
