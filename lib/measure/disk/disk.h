// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Sequential direct transfers of one large file in a directory.

#include <cstdint>
#include <string>

#include "hardware/hardware_profile.h"
#include "measure/disk/block_engine.h"

namespace elixir::measure {

struct DiskRequest {
  std::string directory;
  std::int64_t file_bytes = 0;     ///< at most; less where the disk has less room or is slow
  std::int64_t segment_bytes = 0;  ///< one sample
  double budget_s = 5;             ///< for each of writing first, writing again and reading
};

/// Writes the file once (its blocks are then allocated), writes it again and reads it, in samples
/// of a segment; every block that is read is compared with what was written there. A quarter of the
/// free space at most is used. kOutOfMemory is never thrown; kMissingFeature (no direct transfers),
/// kMachineTooSmall (too little room), kDiskFull, kIoError.
[[nodiscard]] hardware::Disk measure_disk(const DiskRequest& request,
                                          BlockEngine& engine,
                                          std::int64_t block_bytes,
                                          int queue_depth);

}  // namespace elixir::measure
