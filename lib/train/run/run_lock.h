// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The lock of a run directory: an flock on RUN/lock. This object holds it; the system releases it
// when the process ends, however it ends. The file stays, so its existence means nothing.

#include <string>

namespace elixir::train {

class RunLock {
 public:
  /// Throws kRunInUse, naming the process, when another process holds the lock. Throws
  /// kOutputUnwritable, kDiskFull.
  static RunLock acquire(const std::string& directory);
  /// Throws kRunInUse when a process holds the lock now. Does not take the lock and creates no
  /// file.
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
