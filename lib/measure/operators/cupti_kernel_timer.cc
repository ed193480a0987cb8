// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include <fmt/format.h>

#include "core/error.h"
#include "measure/machine/gpu_probe.h"
#include "measure/operators/kernel_timer.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBufferAlignment = 8;
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

std::mutex mutex;
std::uint64_t total_ns = 0;  // under mutex
bool records_lost = false;   // under mutex

void add_record(const CUpti_Activity& record) {
  std::uint64_t start = 0, end = 0;
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      start = kernel.start;
      end = kernel.end;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      start = copy.start;
      end = copy.end;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      start = fill.start;
      end = fill.end;
      break;
    }
    default:
      return;
  }
  total_ns += end - start;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context,
                          std::uint32_t stream,
                          std::uint8_t* buffer,
                          std::size_t /*size*/,
                          std::size_t filled) {
  const std::lock_guard lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) add_record(*record);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS &&
      dropped > 0) {
    records_lost = true;
  }
  std::free(buffer);
}

std::string reason_of(CUptiResult result) {
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown";
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
    return "CUPTI has no permission here: load the driver with "
           "NVreg_RestrictProfilingToAdminUsers=0, or give the process CAP_SYS_ADMIN; events time "
           "the calls instead";
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return "another profiler uses CUPTI in this process: run without it; events time the calls "
           "instead";
  }
  return fmt::format("CUPTI fails here ({}); events time the calls instead", text);
}

CUptiResult switch_kinds(bool on) {
  for (const CUpti_ActivityKind kind : kKinds) {
    const CUptiResult result = on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

void check_cupti(CUptiResult result) {
  if (result != CUPTI_SUCCESS) throw Error(ErrorCode::kDeviceFailure, reason_of(result));
}

/// Registers the callbacks, once per process.
CUptiResult registered() {
  static const CUptiResult result = cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  return result;
}

}  // namespace

std::optional<std::string> kernel_timer_unavailable() {
  if (auto no_gpu = gpu_unavailable()) return no_gpu;
  CUptiResult result = registered();
  if (result == CUPTI_SUCCESS) result = switch_kinds(true);
  (void)switch_kinds(false);
  if (result == CUPTI_SUCCESS) return std::nullopt;
  return reason_of(result);
}

double gpu_kernel_seconds(const std::function<void()>& work) {
  check_cupti(registered());
  gpu_synchronize();
  {
    const std::lock_guard lock(mutex);
    total_ns = 0;
    records_lost = false;
  }
  check_cupti(switch_kinds(true));
  try {
    work();
    gpu_synchronize();
  } catch (...) {
    (void)switch_kinds(false);
    throw;
  }
  check_cupti(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  check_cupti(switch_kinds(false));
  const std::lock_guard lock(mutex);
  if (records_lost) {
    throw Error(ErrorCode::kDeviceFailure, "CUPTI lost records of this call's kernels");
  }
  return static_cast<double>(total_ns) * 1e-9;
}

}  // namespace elixir::measure
