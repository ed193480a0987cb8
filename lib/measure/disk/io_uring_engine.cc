// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// io_uring by its system calls. The three calls needed are stable, and a library would be another
// dependency.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <functional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "measure/disk/aligned_block.h"
#include "measure/disk/block_engine.h"

namespace elixir::measure {
namespace {

int ring_setup(unsigned entries, io_uring_params* params) {
  return static_cast<int>(::syscall(__NR_io_uring_setup, entries, params));
}
int ring_enter(int fd, unsigned submit, unsigned wait) {
  return static_cast<int>(
      ::syscall(__NR_io_uring_enter, fd, submit, wait, IORING_ENTER_GETEVENTS, nullptr, 0));
}
int ring_register(int fd, unsigned what, const void* argument, unsigned count) {
  return static_cast<int>(::syscall(__NR_io_uring_register, fd, what, argument, count));
}

/// A part of the ring that is shared with the kernel.
class Mapping {
 public:
  Mapping(int fd, std::size_t bytes, std::uint64_t offset)
      : bytes_(bytes),
        data_(::mmap(nullptr,
                     bytes,
                     PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_POPULATE,
                     fd,
                     static_cast<off_t>(offset))) {
    if (data_ == MAP_FAILED) {
      throw Error(ErrorCode::kMissingFeature, "the kernel's ring cannot be mapped");
    }
  }
  ~Mapping() { ::munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  template <class T>
  [[nodiscard]] T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(data_) + offset);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

class RingDescriptor {
 public:
  RingDescriptor(unsigned entries, io_uring_params* params) : fd_(ring_setup(entries, params)) {
    if (fd_ < 0) {
      throw Error(ErrorCode::kMissingFeature, io_uring_unavailable().value_or("io_uring failed"));
    }
  }
  ~RingDescriptor() { ::close(fd_); }
  RingDescriptor(const RingDescriptor&) = delete;
  RingDescriptor& operator=(const RingDescriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

class RingEngine : public BlockEngine {
 public:
  RingEngine(std::int64_t block_bytes, int depth)
      : block_bytes_(block_bytes),
        ring_(static_cast<unsigned>(depth), &params_),
        submission_(ring_.get(),
                    params_.sq_off.array + params_.sq_entries * sizeof(unsigned),
                    IORING_OFF_SQ_RING),
        completion_(ring_.get(),
                    params_.cq_off.cqes + params_.cq_entries * sizeof(io_uring_cqe),
                    IORING_OFF_CQ_RING),
        entries_(ring_.get(), params_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES),
        offsets_(static_cast<std::size_t>(depth)) {
    std::vector<iovec> memory;
    for (int i = 0; i < depth; ++i) {
      blocks_.emplace_back(block_bytes);
      memory.push_back({blocks_.back().data(), static_cast<std::size_t>(block_bytes)});
    }
    // Registered memory is not pinned again for every request. The limit on locked memory may
    // forbid it.
    registered_ = ring_register(ring_.get(),
                                IORING_REGISTER_BUFFERS,
                                memory.data(),
                                static_cast<unsigned>(memory.size())) == 0;
  }

  [[nodiscard]] const char* name() const override { return "io_uring"; }

  void move(int descriptor,
            Transfer transfer,
            std::int64_t begin,
            std::int64_t end,
            const OnBlock& on_block) override {
    std::int64_t next = begin;
    unsigned under_way = 0, waiting = 0;
    std::exception_ptr failure;  // kept until no request uses our memory
    const auto guarded = [&](const std::function<void()>& action) {
      try {
        action();
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    };
    const auto start = [&](std::size_t block) {
      if (next >= end || failure || interrupted()) return;
      offsets_[block] = next;
      if (transfer == Transfer::kWrite) {
        guarded([&] { on_block(next, blocks_[block].data()); });
        if (failure) return;
      }
      queue(descriptor, transfer, block);
      next += block_bytes_;
      ++under_way;
      ++waiting;
    };
    for (std::size_t block = 0; block < blocks_.size(); ++block) start(block);
    while (under_way > 0) {
      const int submitted = ring_enter(ring_.get(), waiting, 1);
      if (submitted < 0) {
        if (errno == EINTR || errno == EAGAIN || errno == EBUSY) continue;
        // Requests may still use our memory, and closing the ring would not wait for them.
        require(false, fmt::format("io_uring_enter: {}", std::generic_category().message(errno)));
      }
      waiting -= static_cast<unsigned>(submitted);
      reap([&](std::size_t block, std::int64_t result) {
        --under_way;
        guarded([&] {
          if (result != block_bytes_) fail_transfer(transfer, offsets_[block], result);
          if (transfer == Transfer::kRead) on_block(offsets_[block], blocks_[block].data());
        });
        start(block);
      });
    }
    if (failure) std::rethrow_exception(failure);
    throw_if_interrupted();
  }

 private:
  void queue(int descriptor, Transfer transfer, std::size_t block) {
    auto* tail_at = submission_.at<unsigned>(params_.sq_off.tail);
    const unsigned tail = *tail_at;
    const unsigned slot = tail & *submission_.at<unsigned>(params_.sq_off.ring_mask);
    const bool write = transfer == Transfer::kWrite;
    io_uring_sqe& entry = entries_.at<io_uring_sqe>(0)[slot];
    entry = {};
    entry.opcode = static_cast<std::uint8_t>(
        registered_ ? (write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED)
                    : (write ? IORING_OP_WRITE : IORING_OP_READ));
    entry.fd = descriptor;
    entry.off = static_cast<std::uint64_t>(offsets_[block]);
    entry.addr = reinterpret_cast<std::uint64_t>(blocks_[block].data());
    entry.len = static_cast<std::uint32_t>(block_bytes_);
    entry.buf_index = static_cast<std::uint16_t>(registered_ ? block : 0);
    entry.user_data = block;
    submission_.at<unsigned>(params_.sq_off.array)[slot] = slot;
    std::atomic_ref(*tail_at).store(tail + 1, std::memory_order_release);
  }

  template <class Done>
  void reap(const Done& done) {
    auto* head_at = completion_.at<unsigned>(params_.cq_off.head);
    auto* tail_at = completion_.at<unsigned>(params_.cq_off.tail);
    const unsigned mask = *completion_.at<unsigned>(params_.cq_off.ring_mask);
    const auto* results = completion_.at<io_uring_cqe>(params_.cq_off.cqes);
    unsigned head = *head_at;
    while (head != std::atomic_ref(*tail_at).load(std::memory_order_acquire)) {
      const io_uring_cqe result = results[head & mask];
      std::atomic_ref(*head_at).store(++head, std::memory_order_release);
      done(static_cast<std::size_t>(result.user_data), result.res);
    }
  }

  std::int64_t block_bytes_;
  io_uring_params params_{};
  RingDescriptor ring_;
  Mapping submission_, completion_, entries_;
  std::vector<AlignedBlock> blocks_;
  std::vector<std::int64_t> offsets_;  // of each block's current request
  bool registered_ = false;
};

}  // namespace

std::optional<std::string> io_uring_unavailable() {
  io_uring_params params{};
  const int fd = ring_setup(1, &params);
  if (fd >= 0) {
    // As new as plain reads and writes of a ring.
    alignas(io_uring_probe) std::array<std::byte, sizeof(io_uring_probe)> probe{};
    const bool reads = ring_register(fd, IORING_REGISTER_PROBE, probe.data(), 0) == 0;
    ::close(fd);
    if (reads) return std::nullopt;
    return "this kernel's io_uring cannot read and write (Linux 5.6 or later can)";
  }
  const int number = errno;
  if (number == ENOSYS) return "this kernel has no io_uring (Linux 5.6 or later has)";
  if (number == EPERM || number == EACCES) {
    return "io_uring is forbidden here: allow it by `sysctl kernel.io_uring_disabled=0`, or in the "
           "container's seccomp profile";
  }
  if (number == ENOMEM) {
    return "io_uring may lock no memory here: raise the limit (`ulimit -l`)";
  }
  return fmt::format("io_uring fails here: {}", std::generic_category().message(number));
}

std::unique_ptr<BlockEngine> make_io_uring_engine(std::int64_t block_bytes, int depth) {
  return std::make_unique<RingEngine>(block_bytes, depth);
}

}  // namespace elixir::measure
