// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "measure/disk/aligned_block.h"
#include "measure/disk/block_engine.h"

namespace elixir::measure {
namespace {

class ThreadEngine : public BlockEngine {
 public:
  ThreadEngine(std::int64_t block_bytes, int depth) : block_bytes_(block_bytes) {
    for (int i = 0; i < depth; ++i) blocks_.emplace_back(block_bytes);
  }
  [[nodiscard]] const char* name() const override { return "threads"; }

  void move(int descriptor,
            Transfer transfer,
            std::int64_t begin,
            std::int64_t end,
            const OnBlock& on_block) override {
    std::atomic<std::int64_t> next{begin};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&](void* block) {
      try {
        while (!interrupted()) {
          const std::int64_t offset = next.fetch_add(block_bytes_);
          if (offset >= end) return;
          move_block(descriptor, transfer, offset, block, on_block);
        }
      } catch (...) {
        next.store(end);
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (AlignedBlock& block : blocks_) threads.emplace_back(work, block.data());
    }
    if (failure) std::rethrow_exception(failure);
    throw_if_interrupted();
  }

 private:
  void move_block(int descriptor,
                  Transfer transfer,
                  std::int64_t offset,
                  void* block,
                  const OnBlock& on_block) const {
    const auto bytes = static_cast<std::size_t>(block_bytes_);
    ssize_t moved = 0;
    if (transfer == Transfer::kWrite) {
      on_block(offset, block);
      moved = ::pwrite(descriptor, block, bytes, offset);
    } else {
      moved = ::pread(descriptor, block, bytes, offset);
    }
    if (moved != static_cast<ssize_t>(bytes)) {
      fail_transfer(transfer, offset, moved < 0 ? -errno : moved);
    }
    if (transfer == Transfer::kRead) on_block(offset, block);
  }

  std::int64_t block_bytes_;
  std::vector<AlignedBlock> blocks_;
};

}  // namespace

void fail_transfer(Transfer transfer, std::int64_t offset, std::int64_t result) {
  const char* verb = transfer == Transfer::kRead ? "read" : "write";
  const int number = result < 0 ? static_cast<int>(-result) : 0;
  if (number == ENOSPC || number == EDQUOT || number == EFBIG) {
    throw Error(ErrorCode::kDiskFull, "no room for the file that the disk is measured with");
  }
  throw Error(ErrorCode::kIoError,
              "cannot {} at byte {}: {}",
              verb,
              offset,
              number != 0 ? std::generic_category().message(number)
                          : fmt::format("only {} bytes moved", result));
}

std::unique_ptr<BlockEngine> make_thread_engine(std::int64_t block_bytes, int depth) {
  return std::make_unique<ThreadEngine>(block_bytes, depth);
}

}  // namespace elixir::measure
