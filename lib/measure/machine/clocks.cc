// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/clocks.h"

#include <dlfcn.h>

#include <chrono>
#include <utility>

namespace elixir::measure {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(20);
constexpr int kSuccess = 0;

}  // namespace

/// The functions used, looked up by name, because the library comes with the driver, not with CUDA.
struct ClockWatch::Library {
  using Device = void*;
  void* handle = nullptr;
  int (*shutdown)() = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  std::vector<Device> devices;

  explicit Library(const std::vector<std::string>& gpu_bus_ids) {
    if (gpu_bus_ids.empty()) return;
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto find = [this](const char* name) { return dlsym(handle, name); };
    const auto init = reinterpret_cast<int (*)()>(find("nvmlInit_v2"));
    const auto by_bus =
        reinterpret_cast<int (*)(const char*, Device*)>(find("nvmlDeviceGetHandleByPciBusId_v2"));
    reasons = reinterpret_cast<int (*)(Device, unsigned long long*)>(
        find("nvmlDeviceGetCurrentClocksEventReasons"));
    // The name before driver 535.
    if (reasons == nullptr) {
      reasons = reinterpret_cast<int (*)(Device, unsigned long long*)>(
          find("nvmlDeviceGetCurrentClocksThrottleReasons"));
    }
    if (init == nullptr || by_bus == nullptr || reasons == nullptr || init() != kSuccess) return;
    shutdown = reinterpret_cast<int (*)()>(find("nvmlShutdown"));
    for (const std::string& id : gpu_bus_ids) {
      Device device = nullptr;
      if (by_bus(id.c_str(), &device) == kSuccess) devices.push_back(device);
    }
  }
  ~Library() {
    if (shutdown != nullptr) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

std::string clock_note(unsigned long long reasons) {
  std::string causes;
  const auto add = [&](unsigned long long bits, const char* cause) {
    if ((reasons & bits) == 0) return;
    if (!causes.empty()) causes += ", ";
    causes += cause;
  };
  add(kPowerCap, "power cap");
  add(kSoftwareHeat | kHardwareHeat, "heat");
  add(kPowerBrake, "power brake");
  if (causes.empty()) add(kHardwareSlowdown, "hardware slowdown");
  return causes.empty() ? std::string() : "the GPU's clocks were held down: " + causes;
}

ClockWatch::ClockWatch(const std::vector<std::string>& gpu_bus_ids)
    : library_(std::make_shared<Library>(gpu_bus_ids)) {
  if (library_->devices.empty()) return;
  thread_ = std::thread([this] {
    while (!stopping_.load()) {
      for (Library::Device device : library_->devices) {
        unsigned long long reasons = 0;
        if (library_->reasons(device, &reasons) == kSuccess) seen_.fetch_or(reasons);
      }
      std::this_thread::sleep_for(kPeriod);
    }
  });
}

ClockWatch::~ClockWatch() {
  (void)stop();
}

unsigned long long ClockWatch::stop() {
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
  return seen_.load();
}

}  // namespace elixir::measure
