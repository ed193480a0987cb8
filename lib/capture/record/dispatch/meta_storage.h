// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Allocator of meta tensors that keeps a small record for each storage, so that a capture knows a
// storage by number and learns of its last release at the moment it happens: exactly when eager
// autograd would free the memory.

#include <cstdint>

#include <c10/core/Storage.h>

#include "program/program.h"

namespace elixir::capture {

/// The record behind one meta storage.
struct MetaBlock {
  std::uint64_t owner = 0;  ///< number of the recorder that named it; 0 is nobody
  program::StorageId id = -1;
};

/// Told of releases; one at a time on a thread.
class ReleaseListener {
 public:
  virtual ~ReleaseListener() = default;
  virtual void on_release(const MetaBlock& block) = 0;
};

/// Installs the allocator for the meta device; once a process, cheap to repeat.
void install_meta_allocator();
/// Of this thread; nullptr stops.
void set_release_listener(ReleaseListener* listener);
/// The record of a storage made since the allocator was installed, else nullptr.
[[nodiscard]] MetaBlock* block_of(const c10::Storage& storage);

}  // namespace elixir::capture
