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

/// Makes it LibTorch's CPU allocator for the rest of the process. Idempotent. Call before the
/// tensors that are to be 256-byte aligned are made; older tensors stay valid.
void install_counting_allocator();

/// The CPU device's account. Every function is safe from any thread.
class DeviceAccount {
 public:
  static DeviceAccount& instance();

  /// An allocation that would pass the limit throws c10::OutOfMemoryError and changes nothing.
  void set_limit(std::int64_t bytes);
  void clear_limit() { set_limit(std::numeric_limits<std::int64_t>::max()); }
  [[nodiscard]] std::int64_t charged_bytes() const;
  /// Highest charged_bytes() since the last reset_peak(), which starts again from the present
  /// value.
  [[nodiscard]] std::int64_t peak_bytes() const;
  void reset_peak();

  /// For device memory that does not come from LibTorch. Throws like an allocation; rounds up the
  /// same way.
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

/// Charging is off in the scope, in all threads, whatever ChargeScopes live: for host memory
/// allocated on the way. Only where no operator runs meanwhile.
class PauseCharging {
 public:
  PauseCharging();
  ~PauseCharging();
  PauseCharging(const PauseCharging&) = delete;
  PauseCharging& operator=(const PauseCharging&) = delete;
};

/// What charged memory is filled with when it is allocated and when it is freed.
enum class Poison : std::uint8_t { kNone, kNaN };
void set_poison(Poison poison);

}  // namespace elixir::replay
