// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/meta_storage.h"

#include <memory>

#include <c10/core/Allocator.h>

namespace elixir::capture {
namespace {

thread_local ReleaseListener* release_listener = nullptr;

void release(void* context) {
  const std::unique_ptr<MetaBlock> block(static_cast<MetaBlock*>(context));
  if (release_listener != nullptr && block->id >= 0) release_listener->on_release(*block);
}

class MetaAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t /*bytes*/) override {
    return {nullptr, new MetaBlock, &release, c10::Device(c10::kMeta)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const override {}
};

}  // namespace

void install_meta_allocator() {
  static MetaAllocator allocator;
  static const bool installed = [] {
    constexpr std::uint8_t kHighestPriority = 255;
    c10::SetAllocator(c10::kMeta, &allocator, kHighestPriority);
    return true;
  }();
  static_cast<void>(installed);
}

void set_release_listener(ReleaseListener* listener) {
  release_listener = listener;
}

MetaBlock* block_of(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  return data.get_deleter() == &release ? static_cast<MetaBlock*>(data.get_context()) : nullptr;
}

}  // namespace elixir::capture
