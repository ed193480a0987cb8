// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Did other programs take the cores while something was measured? A thread that could run and had
// no core is counted by the kernel (schedstat); times taken meanwhile are another program's as much
// as ours. Steady disturbance has no spread, so samples alone cannot show it.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace elixir::measure {

/// What the kernel counted of one thread.
struct ThreadWait {
  std::int64_t wait_ns = 0;  ///< could run, had no core
  std::int64_t runs = 0;     ///< times it got one
};

/// Whether some thread waited for longer than waking up takes and than a tenth of `elapsed_ns`.
/// Threads that began meanwhile count from their start.
[[nodiscard]] bool waited_for_cores(const std::map<int, ThreadWait>& before,
                                    const std::map<int, ThreadWait>& after,
                                    std::int64_t elapsed_ns);

class CoreWatch {
 public:
  virtual ~CoreWatch() = default;
  /// From now on.
  virtual void restart();
  /// Whether a thread of this process waited since; then restarts. Never, where the kernel does not
  /// tell.
  [[nodiscard]] virtual bool was_disturbed();
  /// Seconds that must be worth a reading, so that reading takes little of the time.
  [[nodiscard]] virtual double period_s() const;

 private:
  std::map<int, ThreadWait> threads_;
  std::chrono::steady_clock::time_point at_;
  double reading_s_ = 0;
};

/// Looks away: for works of ours that contend on purpose.
class NoWatch final : public CoreWatch {
 public:
  void restart() override {}
  [[nodiscard]] bool was_disturbed() override { return false; }
  [[nodiscard]] double period_s() const override { return 0; }
};

/// "the load average is 11.0 on 2 CPUs": more runs than there are cores for; nullopt where not.
[[nodiscard]] std::optional<std::string> overload(double load_average, int cpus);
/// Of this machine now.
[[nodiscard]] std::optional<std::string> overload();

}  // namespace elixir::measure
