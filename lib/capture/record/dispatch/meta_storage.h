// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// An allocator of meta tensors that keeps a small record for each storage. So a capture can
// identify a storage by number, and learns of its last release immediately: exactly when eager
// autograd would free the memory.

#include <cstdint>

#include <c10/core/Storage.h>

#include "program/program.h"

namespace elixir::capture {

/// The record of one meta storage.
struct MetaBlock {
  std::uint64_t owner = 0;  ///< the recorder that named it, by number; 0: none
  program::StorageId id = -1;
};

/// Receives releases, one at a time per thread.
class ReleaseListener {
 public:
  virtual ~ReleaseListener() = default;
  virtual void on_release(const MetaBlock& block) = 0;
};

/// Installs the allocator for the meta device. Needed once per process; repeated calls are cheap.
void install_meta_allocator();
/// Sets the listener of this thread; nullptr removes it.
void set_release_listener(ReleaseListener* listener);
/// The record of a storage; nullptr if it is older than the allocator.
[[nodiscard]] MetaBlock* block_of(const c10::Storage& storage);

}  // namespace elixir::capture
