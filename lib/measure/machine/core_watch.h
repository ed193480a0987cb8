// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Detects whether other programs used the cores during a measurement. The kernel counts how long a
// thread could run but had no core (schedstat). Times measured meanwhile are not ours alone.
// Samples alone cannot show it, because steady disturbance has no spread.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace elixir::measure {

/// The kernel's counters of one thread.
struct ThreadWait {
  std::int64_t wait_ns = 0;  ///< could run, but had no core
  std::int64_t runs = 0;     ///< how often it got a core
};

/// Whether some thread waited for longer than a wake-up takes, and for longer than a tenth of
/// `elapsed_ns`. For new threads, counts from their start.
[[nodiscard]] bool waited_for_cores(const std::map<int, ThreadWait>& before,
                                    const std::map<int, ThreadWait>& after,
                                    std::int64_t elapsed_ns);

class CoreWatch {
 public:
  virtual ~CoreWatch() = default;
  /// Starts watching now.
  virtual void restart();
  /// Whether a thread of this process waited since then; then restarts. Always false when the
  /// kernel does not report it.
  [[nodiscard]] virtual bool was_disturbed();
  /// The shortest time between readings, in seconds, so that reading costs little.
  [[nodiscard]] virtual double period_s() const;

 private:
  std::map<int, ThreadWait> threads_;
  std::chrono::steady_clock::time_point at_;
  double reading_s_ = 0;
};

/// "the load average is 11.0 on 2 CPUs", when more threads run than there are cores; otherwise
/// nullopt.
[[nodiscard]] std::optional<std::string> overload(double load_average, int cpus);
/// Same for this machine now.
[[nodiscard]] std::optional<std::string> overload();

}  // namespace elixir::measure
