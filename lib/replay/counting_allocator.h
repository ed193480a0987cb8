// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// LibTorch's CPU allocator, counting: while charging is on, every allocation of every thread is
// charged to one process-wide account, the CPU device, whose limit is hard. Used by the runtime
// (the device budget) and by measure (workspaces of operators), so that both count the same bytes.
// Each allocation counts as rounded_allocation() says. Blocks start at multiples of 256 bytes. What
// was allocated without charging is never counted, also when it is freed later; what was charged is
// uncharged whenever it is freed.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace elixir::replay {

inline constexpr std::size_t kBlockAlignmentBytes = 256;

/// Makes it LibTorch's CPU allocator for the rest of the process. Idempotent. The caller must
/// install it before it allocates tensors that need 256-byte alignment. Older tensors stay valid.
void install_counting_allocator();

/// The account of the CPU device. Thread-safe.
class DeviceAccount {
 public:
  static DeviceAccount& instance();

  /// An allocation beyond the limit throws c10::OutOfMemoryError and changes nothing.
  void set_limit(std::int64_t bytes);
  void clear_limit() { set_limit(std::numeric_limits<std::int64_t>::max()); }
  [[nodiscard]] std::int64_t charged_bytes() const;
  /// The highest charged_bytes() since the last reset_peak(). reset_peak() sets it to the current
  /// value.
  [[nodiscard]] std::int64_t peak_bytes() const;
  void reset_peak();

  /// For device memory that LibTorch does not allocate. Throws and rounds up like an allocation.
  void charge(std::int64_t bytes);
  void uncharge(std::int64_t bytes);
};

/// Charging is on while at least one scope lives, in any thread.
class ChargeScope {
 public:
  ChargeScope();
  ~ChargeScope();
  ChargeScope(const ChargeScope&) = delete;
  ChargeScope& operator=(const ChargeScope&) = delete;
};

/// Turns charging off in all threads while it lives, whatever ChargeScopes exist. For host memory
/// that is allocated in between. Use it only while no operator runs.
class PauseCharging {
 public:
  PauseCharging();
  ~PauseCharging();
  PauseCharging(const PauseCharging&) = delete;
  PauseCharging& operator=(const PauseCharging&) = delete;
};

/// Nothing that the calling thread allocates from now on is charged. For threads that run beside
/// operators.
void never_charge_this_thread();

/// The value that charged memory is filled with when it is allocated and when it is freed.
enum class Poison : std::uint8_t { kNone, kNaN };
void set_poison(Poison poison);

}  // namespace elixir::replay
