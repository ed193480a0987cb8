// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The lock of a run directory: an flock on RUN/lock, held while this object lives and given up by
// the system when the process ends in whatever way. The file stays; that it is there means nothing.

#include <string>

namespace elixir::train {

class RunLock {
 public:
  /// kRunInUse when another process holds it, and which. kOutputUnwritable, kDiskFull.
  static RunLock acquire(const std::string& directory);
  /// kRunInUse when somebody holds the lock at this moment; takes none and makes no file.
  static void check_free(const std::string& directory);

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  static constexpr const char* kFile = "lock";

 private:
  explicit RunLock(int descriptor);
  int descriptor_;
};

}  // namespace elixir::train
