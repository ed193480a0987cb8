// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Host memory for chunks. It is mapped at its exact size, because allocators of pinned memory round
// up to powers of two. It uses huge pages where the system provides them, near the CPUs that this
// thread may use. All threads of a pool touch it, because one thread faults in only about 1.5
// GiB/s. It is locked once and then carved into parts.

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/thread_pool.h"

namespace elixir::kernels {

/// How to lock pages for a device. For CUDA use cuda_page_lock().
struct PageLock {
  /// Returns false, with a reason, when the system or the driver refuses.
  bool (*lock)(void* memory, std::size_t bytes, std::string& reason);
  void (*unlock)(void* memory);
};

class HostArena {
 public:
  /// The memory is zeroed. Without a pool, pages are allocated at first use. Memory that cannot be
  /// locked stays unlocked, and warning() says so. Throws std::bad_alloc when there is no address
  /// range left.
  explicit HostArena(std::size_t bytes, ThreadPool* pool = nullptr, const PageLock* lock = nullptr);
  ~HostArena();
  HostArena(HostArena&& other) noexcept;
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;
  HostArena& operator=(HostArena&&) = delete;

  [[nodiscard]] char* data() const { return data_; }  ///< null when empty
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool locked() const { return lock_ != nullptr; }
  /// What failed without an error, for people; empty when nothing did.
  [[nodiscard]] const std::string& warning() const { return warning_; }

  /// The next part, aligned to `alignment`, which must be a power of two up to the page size.
  /// Throws std::bad_alloc when the rest of the arena is too small.
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

/// The memory nodes of the CPUs that the calling thread may use, ascending.
[[nodiscard]] std::vector<int> allowed_memory_nodes();

}  // namespace elixir::kernels
