// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Work that shares something with other work: a link, host memory, device memory, cores. Measured
// alone, and beside another.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "hardware/hardware_profile.h"
#include "kernels/thread_pool.h"
#include "measure/sampling.h"

namespace elixir::measure {

class ContendingWork {
 public:
  virtual ~ContendingWork() = default;
  ContendingWork() = default;
  ContendingWork(const ContendingWork&) = delete;
  ContendingWork& operator=(const ContendingWork&) = delete;
  [[nodiscard]] virtual std::string name() const = 0;  ///< as in the document: "host_to_device"
  /// Does one unit and returns when it is done, some milliseconds later. Work of a GPU keeps the
  /// next unit queued, so that calls in a row leave no gap. One thread at a time.
  virtual void run_unit() = 0;
  /// Waits for what is queued.
  virtual void finish() {}
};

/// Copies of host memory, and AdamW passes over `parameters`, by a pool of their own.
[[nodiscard]] std::unique_ptr<ContendingWork> make_host_copy_work(std::size_t bytes, int threads);
[[nodiscard]] std::unique_ptr<ContendingWork> make_adam_cpu_work(std::size_t parameters,
                                                                 int threads);

/// On the first GPU; kMissingFeature in a build without CUDA.
[[nodiscard]] std::unique_ptr<ContendingWork> make_link_work(hardware::Direction direction,
                                                             std::size_t bytes);
[[nodiscard]] std::unique_ptr<ContendingWork> make_matmul_work(int side);

/// Seconds of units of `work`; beside units of `other` by another thread, from before the first to
/// after the last, when there is an `other`. Both are warm then.
[[nodiscard]] std::vector<double> unit_seconds(ContendingWork& work,
                                               ContendingWork* other,
                                               const Sampling& sampling);

}  // namespace elixir::measure
