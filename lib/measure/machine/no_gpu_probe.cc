// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The GPU probe of a build without CUDA.
#include "core/error.h"
#include "measure/links/contending_work.h"
#include "measure/links/gpu_links.h"
#include "measure/machine/gpu_probe.h"

namespace elixir::measure {
namespace {

constexpr const char* kNoGpu = "this build of Elixir has no CUDA";

[[noreturn]] void unavailable() {
  throw Error(ErrorCode::kMissingFeature, kNoGpu);
}

}  // namespace

std::optional<std::string> gpu_unavailable() {
  return kNoGpu;
}
int gpu_count() {
  return 0;
}
hardware::Gpu describe_gpu(int /*device*/) {
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
std::int64_t gpu_cache_bytes() {
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

std::vector<double> gpu_group_copy_seconds(Traffic, int, std::size_t, int, const Sampling&) {
  unavailable();
}
std::vector<std::vector<double>> gpu_copy_seconds_by_size(Direction,
                                                          HostPages,
                                                          const std::vector<std::int64_t>&,
                                                          const Sampling&) {
  unavailable();
}
bool gpu_peer_access(int, int) {
  unavailable();
}
void enable_gpu_peer_access(int, int) {
  unavailable();
}
std::vector<double> gpu_peer_copy_seconds(int, int, std::size_t, int, const Sampling&) {
  unavailable();
}
std::unique_ptr<ContendingWork> make_link_work(
    Direction, std::size_t, std::size_t, SpreadMemory&, int) {
  unavailable();
}
std::unique_ptr<ContendingWork> make_peer_copy_work(std::size_t, int, int) {
  unavailable();
}
std::unique_ptr<ContendingWork> make_rank_sum_work(std::size_t) {
  unavailable();
}
std::unique_ptr<ContendingWork> make_matmul_work(int) {
  unavailable();
}
std::int64_t gpu_bytes_outside_allocator(int) {
  unavailable();
}
const kernels::PageLock* gpu_page_lock() {
  return nullptr;
}
std::vector<std::string> gpu_bus_ids() {
  return {};
}
double plain_pinned_seconds(std::size_t) {
  unavailable();
}
double arena_pinned_seconds(std::size_t, kernels::ThreadPool&) {
  unavailable();
}

}  // namespace elixir::measure
