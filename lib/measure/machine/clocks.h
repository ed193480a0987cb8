// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Detects whether a GPU's clocks were limited during a measurement. Asks the driver's management
// library (NVML), if there is one. Changes nothing.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace elixir::measure {

/// Bits of NVML's "clocks event reasons" that make a figure lower than the GPU can reach.
inline constexpr unsigned long long kPowerCap = 0x4, kHardwareSlowdown = 0x8, kSoftwareHeat = 0x20,
                                    kHardwareHeat = 0x40, kPowerBrake = 0x80;

/// "the GPU's clocks were held down: power cap, heat"; empty when none of the bits is set.
[[nodiscard]] std::string clock_note(unsigned long long reasons);

/// Watches from its construction until stop(). Without NVML or GPUs it does nothing.
class ClockWatch {
 public:
  /// Takes PCI addresses as CUDA reports them.
  explicit ClockWatch(const std::vector<std::string>& gpu_bus_ids);
  ~ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  /// Returns all reasons seen so far.
  unsigned long long stop();

 private:
  struct Library;
  std::shared_ptr<Library> library_;
  std::atomic<bool> stopping_{false};
  std::atomic<unsigned long long> seen_{0};
  std::thread thread_;
};

}  // namespace elixir::measure
