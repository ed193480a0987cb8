// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Transfers blocks of a file with several requests in flight: with io_uring, or with threads that
// each wait for one block.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elixir::measure {

enum class Transfer { kRead, kWrite };

/// Called with a block's offset in the file and its memory: before it is written, and after it was
/// read. Several threads may call it at once, for different blocks.
using OnBlock = std::function<void(std::int64_t offset, void* block)>;

class BlockEngine {
 public:
  virtual ~BlockEngine() = default;
  BlockEngine() = default;
  BlockEngine(const BlockEngine&) = delete;
  BlockEngine& operator=(const BlockEngine&) = delete;
  [[nodiscard]] virtual const char* name() const = 0;
  /// Transfers the blocks of [begin, end), which must be multiples of the block size. Throws
  /// kDiskFull, kIoError; throws Interrupted when asked to stop, with no request in flight.
  virtual void move(int descriptor,
                    Transfer transfer,
                    std::int64_t begin,
                    std::int64_t end,
                    const OnBlock& on_block) = 0;
};

/// The reason why the kernel does not allow io_uring, with the remedy; nullopt when it does.
[[nodiscard]] std::optional<std::string> io_uring_unavailable();

/// Keeps `depth` blocks of `block_bytes` (a multiple of 4096) in flight. Throws kMissingFeature
/// when the kernel forbids it.
[[nodiscard]] std::unique_ptr<BlockEngine> make_io_uring_engine(std::int64_t block_bytes,
                                                                int depth);
/// Uses `depth` threads.
[[nodiscard]] std::unique_ptr<BlockEngine> make_thread_engine(std::int64_t block_bytes, int depth);

/// Throws the Error for a failed transfer. `result` is a negative errno, or fewer bytes than
/// requested.
[[noreturn]] void fail_transfer(Transfer transfer, std::int64_t offset, std::int64_t result);

}  // namespace elixir::measure
