// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Measures sequential direct transfers of one large file in a directory.

#include <cstdint>
#include <string>

#include "hardware/hardware_profile.h"
#include "measure/disk/block_engine.h"

namespace elixir::measure {

struct DiskRequest {
  std::string directory;
  std::int64_t file_bytes = 0;     ///< upper limit; less when the disk is small or slow
  std::int64_t segment_bytes = 0;  ///< bytes per sample
  double budget_s = 5;             ///< for each of first write, second write and read
};

/// Writes the file once (which allocates its blocks), writes it again and reads it, in samples of
/// one segment. Compares every block it reads with what was written. Uses at most a quarter of the
/// free space. Throws kMissingFeature (no direct transfers), kMachineTooSmall (too little space),
/// kDiskFull, kIoError; never kOutOfMemory.
[[nodiscard]] hardware::Disk measure_disk(const DiskRequest& request,
                                          BlockEngine& engine,
                                          std::int64_t block_bytes,
                                          int queue_depth);

}  // namespace elixir::measure
