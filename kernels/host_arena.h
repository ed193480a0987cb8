// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Host memory for chunks: mapped at its exact size (allocators of pinned memory round up to powers
// of two), in huge pages where the system gives them, near the CPUs that this thread may use,
// touched by all threads of a pool (one thread faults pages at about 1.5 GiB/s), locked once, and
// then carved.

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/thread_pool.h"

namespace elixir::kernels {

/// How pages are locked for a device; cuda_page_lock() is that of CUDA.
struct PageLock {
  /// False with a reason when the system or the driver refuses.
  bool (*lock)(void* memory, std::size_t bytes, std::string& reason);
  void (*unlock)(void* memory);
};

class HostArena {
 public:
  /// Zeroed. Without a pool pages come when they are first used. Memory that cannot be locked is
  /// left unlocked, and warning() says so. std::bad_alloc when the system has no such range left.
  explicit HostArena(std::size_t bytes, ThreadPool* pool = nullptr, const PageLock* lock = nullptr);
  ~HostArena();
  HostArena(HostArena&& other) noexcept;
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;
  HostArena& operator=(HostArena&&) = delete;

  [[nodiscard]] char* data() const { return data_; }  ///< null when empty
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool locked() const { return lock_ != nullptr; }
  /// What did not go as asked, for people; empty when all did.
  [[nodiscard]] const std::string& warning() const { return warning_; }

  /// The next part, at a multiple of `alignment`, a power of two up to the page. std::bad_alloc
  /// when the rest of the arena is smaller.
  [[nodiscard]] void* carve(std::size_t bytes, std::size_t alignment);

 private:
  void map();
  void place_on_nodes();
  void touch(ThreadPool& pool);
  void lock_pages(const PageLock& lock);
  void warn(const std::string& text);

  char* data_ = nullptr;
  std::size_t bytes_ = 0, carved_bytes_ = 0;
  const PageLock* lock_ = nullptr;
  std::string warning_;
};

/// Memory nodes of the CPUs that the calling thread may use, ascending.
[[nodiscard]] std::vector<int> allowed_memory_nodes();

}  // namespace elixir::kernels
