// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The registry of measurements. A measurement is one file in this folder with a static
// Registration. It writes its figures into the hardware profile. docs/metrics.md explains each
// measurement.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "kernels/thread_pool.h"
#include "measure/host/spread_memory.h"
#include "measure/sampling.h"
#include "program/choices.h"

namespace elixir::measure {

enum class Effort { kFull, kQuick };
using program::DeviceKind;

/// The environment of a measurement.
struct Bench {
  DeviceKind device = DeviceKind::kCpu;
  Effort effort = Effort::kFull;
  kernels::ThreadPool* pool = nullptr;  ///< as many threads as LibTorch has
  SpreadMemory* spread = nullptr;       ///< host memory as a training has it
  std::int64_t memory_bytes = 0;        ///< host memory to use; larger sizes are reduced to it
  int gpus = 0;                         ///< GPUs present; 0 on the CPU device
  std::optional<std::string> no_kernel_timer;  ///< why CUPTI cannot time kernels one by one
  std::optional<std::string> disk_directory;   ///< for writing a large file

  [[nodiscard]] bool on_cuda() const { return device == DeviceKind::kCuda; }
  /// How many work at once where several do: 2, 4, 8 … as long as there are as many.
  [[nodiscard]] std::vector<int> gpus_at_once() const;
  template <class T>
  [[nodiscard]] T by_effort(T full, T quick) const {
    return effort == Effort::kFull ? full : quick;
  }
  [[nodiscard]] Sampling sampling() const;
  [[nodiscard]] std::string threads_text() const;  ///< of the pool
};

[[nodiscard]] std::string text_of_threads(int threads);  ///< "2 threads"

struct Measurement {
  std::string name;
  std::string meaning;             ///< what the figure is, with its unit
  std::string method;              ///< how it is obtained
  double full_s = 0, quick_s = 0;  ///< typical duration on one GPU or a small CPU machine
  /// The reason why it cannot run here; nullopt when it can.
  std::function<std::optional<std::string>(const Bench&)> waive;
  std::function<void(const Bench&, hardware::HardwareProfile&)> run;
  bool uses_nccl = false;  ///< NCCL's kernels stay on the GPUs when it has ended
};

/// Sorted by name.
[[nodiscard]] const std::vector<Measurement>& measurements();

class Registration {
 public:
  explicit Registration(Measurement measurement);
};

/// For Measurement::waive.
[[nodiscard]] std::optional<std::string> never(const Bench& bench);
[[nodiscard]] std::optional<std::string> unless_cuda(const Bench& bench);

}  // namespace elixir::measure
