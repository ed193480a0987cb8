// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// An unnamed file in a given directory, read and written without the page cache. The system frees
// it however the process ends.

#include <cstdint>
#include <string>

namespace elixir::measure {

/// Direct transfers must start and end at multiples of this, in the file and in memory.
inline constexpr std::int64_t kDirectAlignmentBytes = 4096;

/// Throws kOutputUnwritable unless `directory` is a directory in which this process may create
/// files.
void check_directory(const std::string& directory);

class DirectFile {
 public:
  /// Throws kOutputUnwritable; kMissingFeature when the file system has no direct transfers.
  explicit DirectFile(const std::string& directory);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;
  [[nodiscard]] int descriptor() const { return fd_; }
  /// Free space of the file system that this process may use.
  [[nodiscard]] std::int64_t available_bytes() const;
  void sync() const;

 private:
  int fd_ = -1;
};

}  // namespace elixir::measure
