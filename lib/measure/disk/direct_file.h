// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A file without a name in a chosen directory, read and written past the page cache. The system
// frees it however this process ends.

#include <cstdint>
#include <string>

namespace elixir::measure {

/// Direct transfers start and end at multiples of it, in the file and in memory.
inline constexpr std::int64_t kDirectAlignmentBytes = 4096;

/// kOutputUnwritable unless `directory` is a directory in which this process may make files.
void check_directory(const std::string& directory);

class DirectFile {
 public:
  /// kOutputUnwritable; kMissingFeature when the file system has no direct transfers.
  explicit DirectFile(const std::string& directory);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;
  [[nodiscard]] int descriptor() const { return fd_; }
  /// What the file system has left for us.
  [[nodiscard]] std::int64_t available_bytes() const;
  void sync() const;

 private:
  int fd_ = -1;
};

}  // namespace elixir::measure
