// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/disk/disk.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "measure/disk/direct_file.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::HardwareProfile;

constexpr std::int64_t kBlockBytes = 1_MiB;
constexpr int kQueueDepth = 32;
constexpr int kMostThreads = 32;
constexpr std::size_t kLeastSegments = 3;

/// Eight bytes that are unique to the block at `offset` of pass `pass` (splitmix64).
std::uint64_t stamp_of(std::int64_t offset, int pass) {
  std::uint64_t z = static_cast<std::uint64_t>(offset) +
                    0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(pass + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Content that can neither be compressed nor deduplicated, because storage may do either. The
/// first write of a block fills it; later writes change its stamps.
class Content {
 public:
  explicit Content(std::int64_t block_bytes) : block_bytes_(block_bytes) {}
  void fill(std::int64_t offset, void* block, int pass) const {
    each_page(offset, [&](std::int64_t at, std::int64_t page) {
      std::uint64_t value = stamp_of(at, pass);
      std::memcpy(static_cast<char*>(block) + page, &value, sizeof value);
    });
  }
  void randomise(std::int64_t offset, void* block) const {
    std::uint64_t state = stamp_of(offset, -2) | 1;
    for (std::int64_t at = 0; at < block_bytes_; at += 8) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      std::memcpy(static_cast<char*>(block) + at, &state, sizeof state);
    }
  }
  void check(std::int64_t offset, const void* block, int pass) const {
    each_page(offset, [&](std::int64_t at, std::int64_t page) {
      std::uint64_t value = 0;
      std::memcpy(&value, static_cast<const char*>(block) + page, sizeof value);
      if (value == stamp_of(at, pass)) return;
      throw Error(
          ErrorCode::kIoError, "the disk returned other data than was written at byte {}", at);
    });
  }

 private:
  template <class Visit>
  void each_page(std::int64_t offset, Visit visit) const {
    for (std::int64_t page = 0; page < block_bytes_; page += kDirectAlignmentBytes) {
      visit(offset + page, page);
    }
  }
  std::int64_t block_bytes_;
};

/// Seconds of each segment of [0, end), until the budget is spent, but at least a few.
template <class Move>
std::vector<double> by_segments(std::int64_t end, const DiskRequest& request, const Move& move) {
  std::vector<double> seconds;
  double spent = 0;
  for (std::int64_t at = 0; at < end; at += request.segment_bytes) {
    if (seconds.size() >= kLeastSegments && spent > request.budget_s) break;
    seconds.push_back(seconds_of([&] { move(at, at + request.segment_bytes); }));
    spent += seconds.back();
  }
  return seconds;
}

const Registration kDisk({
    "disk",
    "bytes per second of sequential reading and writing in the directory of --disk",
    "one file without a name, blocks of 1 MiB past the page cache, 32 under way (io_uring, else "
    "threads), each block compared; at most 2 GiB, 256 MiB with --quick",
    5.0,
    1.0,
    [](const Bench& bench) -> std::optional<std::string> {
      if (bench.disk_directory) return std::nullopt;
      return "no directory was named: --disk DIR writes up to 2 GiB there and removes it";
    },
    [](const Bench& bench, HardwareProfile& profile) {
      const std::optional<std::string> no_ring = io_uring_unavailable();
      const auto engine = no_ring ? make_thread_engine(kBlockBytes, kMostThreads)
                                  : make_io_uring_engine(kBlockBytes, kQueueDepth);
      const std::int64_t wanted = bench.by_effort<std::int64_t>(2_GiB, 256_MiB);
      const std::int64_t segment = bench.by_effort<std::int64_t>(128_MiB, 32_MiB);
      profile.disk =
          measure_disk({*bench.disk_directory, wanted, segment, bench.by_effort(4.0, 0.5)},
                       *engine,
                       kBlockBytes,
                       no_ring ? kMostThreads : kQueueDepth);
      if (no_ring) {
        profile.waived["disk by io_uring"] = *no_ring;
      } else {
        profile.waived.erase("disk by io_uring");
      }
      if (profile.disk->file_bytes < wanted) {
        profile.noticed["disk"] =
            fmt::format("a file of {}, not {}: the disk is slow or has little room",
                        format_bytes(profile.disk->file_bytes),
                        format_bytes(wanted));
      }
    },
});

}  // namespace

hardware::Disk measure_disk(const DiskRequest& request,
                            BlockEngine& engine,
                            std::int64_t block_bytes,
                            int queue_depth) {
  require(request.segment_bytes % block_bytes == 0,
          "a segment that is not a whole number of blocks");
  const DirectFile file(request.directory);
  const std::int64_t room = std::min(request.file_bytes, file.available_bytes() / 4);
  const std::int64_t most = room / request.segment_bytes * request.segment_bytes;
  if (most < static_cast<std::int64_t>(kLeastSegments) * request.segment_bytes) {
    throw Error(
        ErrorCode::kMachineTooSmall,
        "`{}` has {} free, and the measurement takes a quarter of it at most: "
        "free {}",
        request.directory,
        format_bytes(file.available_bytes()),
        format_bytes(4 * static_cast<std::int64_t>(kLeastSegments) * request.segment_bytes));
  }
  const Content content(block_bytes);
  int pass = 0;
  const auto write = [&](std::int64_t begin, std::int64_t end) {
    engine.move(file.descriptor(), Transfer::kWrite, begin, end, [&](std::int64_t at, void* block) {
      if (pass == 0) content.randomise(at, block);
      content.fill(at, block, pass);
    });
    file.sync();
  };
  const std::vector<double> first = by_segments(most, request, write);
  const std::int64_t end = static_cast<std::int64_t>(first.size()) * request.segment_bytes;

  pass = 1;
  const std::vector<double> written = by_segments(end, request, write);
  const std::int64_t rewritten = static_cast<std::int64_t>(written.size()) * request.segment_bytes;
  const std::vector<double> read =
      by_segments(end, request, [&](std::int64_t begin, std::int64_t until) {
        engine.move(
            file.descriptor(), Transfer::kRead, begin, until, [&](std::int64_t at, void* block) {
              content.check(at, block, at < rewritten ? 1 : 0);
            });
      });
  const auto bytes = static_cast<double>(request.segment_bytes);
  const std::string method = fmt::format("direct, {} of {} under way by {}, {} a sample",
                                         queue_depth,
                                         format_bytes(block_bytes),
                                         engine.name(),
                                         format_bytes(request.segment_bytes));
  return {request.directory,
          engine.name(),
          end,
          block_bytes,
          queue_depth,
          rate_figure(bytes, read, method),
          rate_figure(bytes, written, method + ", synced")};
}

}  // namespace elixir::measure
