// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The locks of a run directory: flocks that the system releases when a process ends, however it
// ends. The files stay, so their existence means nothing.
//
//   lock        rank 0 alone holds it. Its text names that process and its attempt.
//   lock-ranks  every other rank shares it. Rank 0 of a later attempt waits until nobody does: a
//               rank whose rank 0 has gone may still write, and ends within seconds.

#include <string>

#include "core/descriptor.h"
#include "core/directory.h"

namespace elixir::train {

class RunLock {
 public:
  /// Takes the lock of rank 0. Throws kRunInUse, naming a process, when another process holds the
  /// lock, or ranks of an earlier attempt do not end; kOutputUnwritable, kDiskFull.
  static RunLock lead(const Directory& run, const std::string& attempt);
  /// Takes the lock of another rank, while rank 0 of `attempt` holds its own. Throws
  /// kOutputUnwritable when rank 0 does not hold the lock of this directory: it sees another one,
  /// or has gone.
  static RunLock follow(const Directory& run, const std::string& attempt);
  /// Throws kRunInUse when a process holds the lock of rank 0 now. Creates no file.
  static void check_free(const Directory& run);

  static constexpr const char* kFile = "lock";
  static constexpr const char* kRanksFile = "lock-ranks";

 private:
  explicit RunLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace elixir::train
