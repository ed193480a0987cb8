// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/zip_directory.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace elixir::capture {
namespace {

constexpr std::uint64_t kEndRecordBytes = 22;
constexpr std::uint64_t kLongestComment = 65535;
constexpr std::uint64_t kLocatorBytes = 20;
constexpr std::uint64_t kEnd64RecordBytes = 56;
constexpr std::size_t kHeaderBytes = 46;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{64} << 20;

/// The little-endian number of `count` bytes at `position`; 0 beyond the end.
std::uint64_t number_at(std::string_view bytes, std::uint64_t position, std::size_t count) {
  if (position > bytes.size() || bytes.size() - position < count) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = count; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[position + i - 1]);
  }
  return value;
}

std::string bytes_at(int descriptor, std::uint64_t position, std::uint64_t count) {
  std::string bytes(count, '\0');
  const ssize_t n = ::pread(descriptor, bytes.data(), count, static_cast<off_t>(position));
  bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0;
};

Directory find_directory(int descriptor, std::uint64_t file_bytes) {
  const std::uint64_t tail_bytes =
      std::min(file_bytes, kEndRecordBytes + kLongestComment + kLocatorBytes);
  const std::uint64_t tail_begin = file_bytes - tail_bytes;
  const std::string tail = bytes_at(descriptor, tail_begin, tail_bytes);
  const std::size_t end = tail.rfind("PK\x05\x06");
  if (end == std::string::npos || tail.size() - end < kEndRecordBytes) return {};
  Directory directory{.offset = number_at(tail, end + 16, 4),
                      .bytes = number_at(tail, end + 12, 4)};
  // As in LibTorch's reader, the wider record is used if there is one.
  if (end >= kLocatorBytes && tail_begin + end >= kLocatorBytes + kEnd64RecordBytes &&
      tail.compare(end - kLocatorBytes, 4, "PK\x06\x07") == 0) {
    const std::uint64_t record = number_at(tail, end - kLocatorBytes + 8, 8);
    if (file_bytes < kEnd64RecordBytes || record > file_bytes - kEnd64RecordBytes) return {};
    const std::string end64 = bytes_at(descriptor, record, kEnd64RecordBytes);
    if (end64.compare(0, 4, "PK\x06\x06") == 0) {
      directory = {.offset = number_at(end64, 48, 8), .bytes = number_at(end64, 40, 8)};
    }
  }
  if (directory.offset > file_bytes || directory.bytes > file_bytes - directory.offset ||
      directory.bytes > kLargestDirectory) {
    return {};
  }
  return directory;
}

/// The uncompressed size. It is in the zip64 extra field if it does not fit into the header.
std::uint64_t size_of_entry(std::string_view header, std::string_view extra) {
  constexpr std::uint64_t kInExtra = 0xFFFFFFFF;
  const std::uint64_t bytes = number_at(header, 24, 4);
  if (bytes != kInExtra) return bytes;
  for (std::uint64_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t length = number_at(extra, at + 2, 2);
    if (number_at(extra, at, 2) == 1) return number_at(extra, at + 4, 8);
    at += 4 + length;
  }
  return bytes;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(int descriptor, std::uint64_t file_bytes) {
  const Directory directory = find_directory(descriptor, file_bytes);
  const std::string text = bytes_at(descriptor, directory.offset, directory.bytes);
  std::vector<ZipEntry> entries;
  std::size_t at = 0;
  while (text.size() - at >= kHeaderBytes && text.compare(at, 4, "PK\x01\x02") == 0) {
    const std::string_view header = std::string_view(text).substr(at, kHeaderBytes);
    const std::uint64_t name = number_at(header, 28, 2);
    const std::uint64_t extra = number_at(header, 30, 2);
    const std::uint64_t comment = number_at(header, 32, 2);
    if (text.size() - at - kHeaderBytes < name + extra + comment) return {};
    ZipEntry entry;
    entry.name = text.substr(at + kHeaderBytes, name);
    entry.checksum = static_cast<std::uint32_t>(number_at(header, 16, 4));
    entry.stored = number_at(header, 10, 2) == 0;
    entry.bytes =
        size_of_entry(header, std::string_view(text).substr(at + kHeaderBytes + name, extra));
    entries.push_back(std::move(entry));
    at += kHeaderBytes + name + extra + comment;
  }
  return entries;
}

}  // namespace elixir::capture
