// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The GPU probe of a build without CUDA.
#include "core/error.h"
#include "measure/gpu_probe.h"

namespace elixir::measure {
namespace {

constexpr const char* kReason = "this build of Elixir has no CUDA";

[[noreturn]] void unavailable() {
  throw Error(ErrorCode::kMissingFeature, kReason);
}

}  // namespace

std::optional<std::string> gpu_unavailable() {
  return kReason;
}
hardware::Gpu describe_gpu() {
  unavailable();
}
std::vector<double> gpu_copy_seconds(Direction, HostPages, std::size_t, int, const Sampling&) {
  unavailable();
}
std::vector<double> gpu_both_ways_seconds(std::size_t, const Sampling&) {
  unavailable();
}
std::vector<double> gpu_work_seconds(const std::function<void()>&, const Sampling&) {
  unavailable();
}
double gpu_work_seconds_once(const std::function<void()>&, const std::function<void()>&) {
  unavailable();
}
void gpu_synchronize() {
  unavailable();
}
GpuAllocated gpu_allocated() {
  unavailable();
}
void gpu_reset_peak() {
  unavailable();
}

}  // namespace elixir::measure
