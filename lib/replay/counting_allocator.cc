// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/counting_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "core/allocation_unit.h"

namespace elixir::replay {
namespace {

// All bytes are 0xFF, which is NaN in every floating dtype and -1 in every integer.
constexpr int kPoisonByte = 0xFF;

std::atomic<std::int64_t> limit_bytes{std::numeric_limits<std::int64_t>::max()};
std::atomic<std::int64_t> charged{0};
std::atomic<std::int64_t> peak{0};
std::atomic<int> charge_scopes{0};
std::atomic<int> pause_scopes{0};
std::atomic<Poison> poison_mode{Poison::kNone};
thread_local bool never_charged = false;

void raise_peak(std::int64_t value) {
  std::int64_t seen = peak.load();
  while (seen < value && !peak.compare_exchange_weak(seen, value)) {
  }
}

/// Charges `bytes` (already rounded) to the account. Throws, and charges nothing, beyond the limit.
void take(std::int64_t bytes) {
  std::int64_t before = charged.load();
  do {
    const std::int64_t limit = limit_bytes.load();
    TORCH_CHECK_WITH(OutOfMemoryError,
                     bytes <= limit - before,
                     "device memory exhausted: ",
                     bytes,
                     " bytes wanted, ",
                     before,
                     " of ",
                     limit,
                     " in use");
  } while (!charged.compare_exchange_weak(before, before + bytes));
  raise_peak(before + bytes);
}

/// Stored before every block. There is no other place, because oneDNN requires that a block's
/// DataPtr has context == data.
struct Header {
  std::int64_t bytes;
  std::int64_t charged_bytes;  // 0 when allocated without charging
};
static_assert(sizeof(Header) <= kBlockAlignmentBytes);

Header* header_of(void* data) {
  return reinterpret_cast<Header*>(static_cast<char*>(data) - kBlockAlignmentBytes);
}

void free_block(void* data) {
  if (data == nullptr) return;
  Header* header = header_of(data);
  if (header->charged_bytes > 0) {
    if (poison_mode.load() == Poison::kNaN) {
      std::memset(data, kPoisonByte, static_cast<std::size_t>(header->bytes));
    }
    charged.fetch_sub(header->charged_bytes);
  }
  std::free(header);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t n) override {
    if (n == 0) return {nullptr, nullptr, &free_block, c10::Device(c10::DeviceType::CPU)};
    const bool charging = !never_charged && charge_scopes.load() > 0 && pause_scopes.load() == 0;
    const std::int64_t bytes = static_cast<std::int64_t>(n);
    const std::int64_t counted = charging ? rounded_allocation(bytes) : 0;
    if (charging) take(counted);
    void* memory = nullptr;
    if (posix_memalign(&memory, kBlockAlignmentBytes, n + kBlockAlignmentBytes) != 0) {
      charged.fetch_sub(counted);
      TORCH_CHECK_WITH(OutOfMemoryError, false, "the host has no ", n, " bytes left");
    }
    *static_cast<Header*>(memory) = {bytes, counted};
    void* data = static_cast<char*>(memory) + kBlockAlignmentBytes;
    if (charging && poison_mode.load() == Poison::kNaN) std::memset(data, kPoisonByte, n);
    return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    default_copy_data(destination, source, count);
  }
};

}  // namespace

void install_counting_allocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Never destroyed, because blocks may outlive static destruction.
    static auto* const allocator = new CountingAllocator;
    c10::SetCPUAllocator(allocator, /*priority=*/255);
  });
}

DeviceAccount& DeviceAccount::instance() {
  static DeviceAccount account;
  return account;
}
void DeviceAccount::set_limit(std::int64_t bytes) {
  limit_bytes.store(bytes);
}
std::int64_t DeviceAccount::charged_bytes() const {
  return charged.load();
}
std::int64_t DeviceAccount::peak_bytes() const {
  return peak.load();
}
void DeviceAccount::reset_peak() {
  peak.store(charged.load());
}
void DeviceAccount::charge(std::int64_t bytes) {
  take(rounded_allocation(bytes));
}
void DeviceAccount::uncharge(std::int64_t bytes) {
  charged.fetch_sub(rounded_allocation(bytes));
}

ChargeScope::ChargeScope() {
  charge_scopes.fetch_add(1);
}
ChargeScope::~ChargeScope() {
  charge_scopes.fetch_sub(1);
}
PauseCharging::PauseCharging() {
  pause_scopes.fetch_add(1);
}
PauseCharging::~PauseCharging() {
  pause_scopes.fetch_sub(1);
}

void never_charge_this_thread() {
  never_charged = true;
}

void set_poison(Poison poison) {
  poison_mode.store(poison);
}

}  // namespace elixir::replay
