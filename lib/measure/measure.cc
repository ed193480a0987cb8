// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/measure.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "measure/disk/direct_file.h"
#include "measure/machine/clocks.h"
#include "measure/machine/gpu_probe.h"
#include "measure/machine/machine.h"
#include "measure/operators/kernel_timer.h"
#include "replay/counting_allocator.h"
#include "replay/launch_errors.h"

namespace elixir::measure {
namespace {

using hardware::HardwareProfile;

/// Limit for the drift between the halves of a series. An undisturbed machine stays below it.
constexpr double kDriftLimit = 0.10;

void add_note(std::string& notes, const std::string& note) {
  if (!notes.empty()) notes += "; ";
  notes += note;
}

DeviceKind choose_device(DeviceChoice choice) {
  const std::optional<std::string> reason = gpu_unavailable();
  switch (choice) {
    case DeviceChoice::kCpu:
      return DeviceKind::kCpu;
    case DeviceChoice::kAuto:
      return reason ? DeviceKind::kCpu : DeviceKind::kCuda;
    case DeviceChoice::kCuda:
      break;
  }
  if (reason) {
    throw Error(ErrorCode::kNoGpu, "there is no GPU to measure: {}", *reason)
        .help("measure the CPU device: --device cpu");
  }
  return DeviceKind::kCuda;
}

/// "NVIDIA H200" is "h200".
std::string short_name(const std::string& gpu) {
  std::string name = gpu.substr(gpu.rfind(' ') + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return name;
}

std::vector<hardware::Gpu> describe_gpus() {
  std::vector<hardware::Gpu> gpus(static_cast<std::size_t>(gpu_count()));
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i] = describe_gpu(static_cast<int>(i));
  return gpus;
}

HardwareProfile describe(const Bench& bench, const Request& request) {
  HardwareProfile profile;
  profile.device_kind = bench.device;
  profile.machine = describe_machine(bench.pool->threads());
  if (bench.on_cuda()) profile.gpus = describe_gpus();
  profile.name = bench.on_cuda() ? short_name(profile.gpus[0].name) : "cpu";
  if (!request.name.empty()) profile.name = request.name;
  return profile;
}

/// A profile with figures of two machines would describe neither, so this refuses it.
void check_same_machine(const HardwareProfile& into, const HardwareProfile& here) {
  std::vector<std::string> notes;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) notes.push_back(fmt::format("{}: {} in the profile, {} here", what, a, b));
  };
  compare("device", std::string(name_of(into.device_kind)), std::string(name_of(here.device_kind)));
  compare("CPU", into.machine.cpu, here.machine.cpu);
  if (into.machine.isa != program::CpuIsa::kUnsaid) {  // older documents do not name it
    compare("instruction set",
            std::string(name_of(into.machine.isa)),
            std::string(name_of(here.machine.isa)));
  }
  compare("threads", std::to_string(into.machine.threads), std::to_string(here.machine.threads));
  if (!into.gpus.empty() && !here.gpus.empty()) {
    compare("GPU", into.gpus[0].name, here.gpus[0].name);
  }
  if (notes.empty()) return;
  ErrorInfo info;
  info.code = ErrorCode::kWrongMachineKind;
  info.message = fmt::format("the hardware profile `{}` is of another machine", into.name);
  info.notes = notes;
  info.help = {"measure this machine into a new file: leave out --into"};
  throw Error(info);
}

std::vector<const Measurement*> chosen(const Request& request) {
  std::vector<const Measurement*> found;
  for (const Measurement& measurement : measurements()) {
    if (!request.only ||
        std::count(request.only->begin(), request.only->end(), measurement.name) > 0) {
      found.push_back(&measurement);
    }
  }
  return found;
}

/// Why a measurement with this error is waived; empty when the whole run must fail.
std::string reason_to_waive(const ErrorInfo& failure) {
  switch (failure.code) {
    case ErrorCode::kOutOfMemory:
      return "too little memory: " + failure.message;
    case ErrorCode::kMissingFeature:
    case ErrorCode::kMachineTooSmall:
    case ErrorCode::kDiskFull:
      return failure.message;
    default:
      return {};
  }
}

/// What measurements leave in the memory of each GPU. NCCL's kernels stay loaded when it has ended.
class LeftBehind {
 public:
  explicit LeftBehind(int gpus) : bytes_(static_cast<std::size_t>(gpus)) {}
  /// Calls `use`, and counts what is in use afterwards and was not before.
  template <class Use>
  void add(const Use& use) {
    std::vector<std::int64_t> before;
    for (int gpu = 0; gpu < gpus(); ++gpu) before.push_back(gpu_bytes_outside_allocator(gpu));
    use();
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      const auto at = static_cast<std::size_t>(gpu);
      bytes_[at] += gpu_bytes_outside_allocator(gpu) - before[at];
    }
  }
  [[nodiscard]] std::int64_t bytes(int gpu) const { return bytes_[static_cast<std::size_t>(gpu)]; }

 private:
  [[nodiscard]] int gpus() const { return static_cast<int>(bytes_.size()); }
  std::vector<std::int64_t> bytes_;
};

/// Returns false when it was interrupted.
bool run_one(const Measurement& measurement,
             const Bench& bench,
             HardwareProfile& profile,
             std::vector<SampleSeries>& samples) {
  const SampleScope scope(measurement.name);
  ClockWatch clocks(bench.on_cuda() ? gpu_bus_ids() : std::vector<std::string>{});
  profile.noticed.erase(measurement.name);
  profile.waived.erase(measurement.name);
  try {
    replay::with_launch_errors([&] { measurement.run(bench, profile); });
  } catch (const Interrupted&) {
    profile.waived[measurement.name] = "interrupted";
    return false;
  } catch (const Error& error) {
    const std::string reason = reason_to_waive(error.info());
    if (reason.empty()) throw;
    profile.waived[measurement.name] = reason;
  } catch (const c10::OutOfMemoryError& error) {
    profile.waived[measurement.name] =
        fmt::format("too little memory: {}", error.what_without_backtrace());
  }
  const std::string held_down = clock_note(clocks.stop());
  if (!held_down.empty()) add_note(profile.noticed[measurement.name], held_down);
  const std::string contended = contention_note(scope.contended(), scope.series().size());
  if (!contended.empty()) add_note(profile.noticed[measurement.name], contended);
  const std::string changed = drift_note(scope.series(), kDriftLimit);
  if (!changed.empty()) add_note(profile.noticed[measurement.name], changed);
  samples.insert(samples.end(), scope.series().begin(), scope.series().end());
  return true;
}

}  // namespace

void check_names(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Measurement& measurement : measurements()) known.push_back(measurement.name);
  for (const std::string& name : names) {
    if (std::count(known.begin(), known.end(), name) > 0) continue;
    std::vector<std::string> help;
    for (const std::string& near : nearest(name, known)) {
      help.push_back(fmt::format("did you mean `{}`?", near));
    }
    help.push_back(fmt::format("measurements: {}", fmt::join(known, ", ")));
    throw Error(ErrorCode::kBadFlagValue, "there is no measurement `{}`", name).help(help);
  }
}

Outcome measure(const Request& request) {
  if (request.only) check_names(*request.only);
  if (request.disk_directory) check_directory(*request.disk_directory);
  replay::install_counting_allocator();  // the allocator of training
  kernels::ThreadPool pool(at::get_num_threads());
  Bench bench;
  bench.device = choose_device(request.device);
  bench.effort = request.effort;
  bench.pool = &pool;
  bench.memory_bytes = request.host_memory_bytes.value_or(host_memory_limit_bytes());
  std::optional<SpreadMemory> spread;
  spread.emplace(
      spread_memory_bytes(bench.memory_bytes), pool, bench.on_cuda() ? gpu_page_lock() : nullptr);
  bench.spread = &*spread;
  bench.gpus = bench.on_cuda() ? gpu_count() : 0;
  bench.disk_directory = request.disk_directory;

  Outcome outcome;
  const HardwareProfile here = describe(bench, request);
  if (request.into) check_same_machine(*request.into, here);
  for (const program::Program* program : request.programs) check_target(*program, bench, here);
  outcome.profile = request.into ? *request.into : here;
  HardwareProfile& profile = outcome.profile;
  if (!request.name.empty()) profile.name = request.name;

  if (!request.programs.empty() && bench.on_cuda()) {
    bench.no_kernel_timer = kernel_timer_unavailable();
  }

  const Progress progress = request.progress ? request.progress : [](double, std::string_view) {};
  const std::vector<const Measurement*> list = chosen(request);
  LeftBehind nccl(bench.gpus);
  double total_s = 0, done_s = 0;
  const auto seconds = [&](const Measurement* m) { return bench.by_effort(m->full_s, m->quick_s); };
  for (const Measurement* measurement : list) total_s += seconds(measurement);

  for (const Measurement* measurement : list) {
    const std::optional<std::string> reason =
        outcome.interrupted ? "interrupted" : measurement->waive(bench);
    if (reason) {
      profile.waived[measurement->name] = *reason;
      continue;
    }
    progress(done_s / total_s, measurement->name);
    const auto run = [&] {
      outcome.interrupted = !run_one(*measurement, bench, profile, outcome.samples);
    };
    measurement->uses_nccl ? nccl.add(run) : run();
    done_s += seconds(measurement);
  }
  if (request.only && !request.into) {
    for (const Measurement& measurement : measurements()) {
      if (std::count(request.only->begin(), request.only->end(), measurement.name) == 0) {
        profile.waived[measurement.name] = "not asked for";
      }
    }
  }
  std::set<std::string> known;  // operators that several programs have
  for (const program::Program* program : request.programs) {
    if (outcome.interrupted) break;
    try {
      const SampleScope scope("operators");
      profile.noticed.erase("operators");
      measure_operators(*program, bench, profile, known, progress);
      const std::string contended = contention_note(scope.contended(), scope.series().size());
      if (!contended.empty()) add_note(profile.noticed["operators"], contended);
      outcome.samples.insert(outcome.samples.end(), scope.series().begin(), scope.series().end());
    } catch (const Interrupted&) {
      outcome.interrupted = true;
    }
  }
  bench.spread = nullptr;
  spread.reset();  // a GPU's page table of locked memory is not part of its context
  // Kernels are loaded at first use, so the context has its full size only now. Another document
  // has it already.
  if (bench.on_cuda() && !request.into) {
    profile.gpus = describe_gpus();
    for (int gpu = 0; gpu < bench.gpus; ++gpu) {
      profile.gpus[static_cast<std::size_t>(gpu)].context_bytes -= nccl.bytes(gpu);
    }
  }
  return outcome;
}

}  // namespace elixir::measure
