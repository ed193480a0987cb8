// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Times of a stream's tasks, which end in order but may overlap. Not thread-safe: call it where
// ends come one after another (HostOperations::when_ended()).

#include <algorithm>

#include "runtime/device/step_times.h"

namespace elixir::runtime {

class OrderedTimes {
 public:
  /// The time of a task that was ready at `ready_ns` and ends now. It starts when it is ready and
  /// the task before has ended, although its first pieces may run beside that task's last ones.
  [[nodiscard]] schedule::TaskTime end(double ready_ns, double now_ns) {
    const double start_ns = std::max(ready_ns, last_end_ns_);
    last_end_ns_ = now_ns;
    return {start_ns, now_ns};
  }

 private:
  double last_end_ns_ = 0;
};

}  // namespace elixir::runtime
