// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/operators/operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "capture/host_cpu.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "hardware/operator_cost.h"
#include "measure/machine/gpu_probe.h"
#include "measure/operators/cache_state.h"
#include "measure/operators/kernel_timer.h"
#include "measure/operators/operator_stage.h"
#include "measure/operators/product_check.h"
#include "measure/sample_log.h"
#include "operators/operator_key.h"
#include "program/lifetimes.h"
#include "program/reuse.h"
#include "replay/counting_allocator.h"
#include "replay/launch_errors.h"
#include "replay/replay_call.h"

namespace elixir::measure {
namespace {

using program::Operator;
using program::Program;

constexpr const char* kKernelTimer = "operators by CUPTI";
/// How many calls in a row are timed on the host, if a call changes none of its arguments.
constexpr int kIssuedPerSample = 8;

Sampling sampling_of(const Bench& bench) {
  return bench.effort == Effort::kFull ? Sampling{2, 7, 30, 0.12} : Sampling{1, 3, 10, 0.02};
}

hardware::OperatorTime measure_on_cpu(OperatorStage& stage, const Bench& bench, std::string key) {
  replay::DeviceAccount& account = replay::DeviceAccount::instance();
  std::int64_t workspace = 0;
  const std::vector<double> seconds = sample(sampling_of(bench), [&] {
    stage.restore();
    stage.cool_parameters();
    const std::int64_t before = account.charged_bytes();
    account.reset_peak();
    const replay::ChargeScope charge;
    std::int64_t fresh = 0;
    const double run = seconds_of([&] { stage.run(); });
    fresh = stage.fresh_bytes();
    const double release = seconds_of([&] { stage.release(); });
    workspace = std::max(workspace, account.peak_bytes() - before - fresh);
    return run + release;
  });
  return {std::move(key),
          time_figure(seconds, bench.threads_text() + ", replayed call, wall clock"),
          std::max<std::int64_t>(0, workspace)};
}

/// Measures again while the result is slower than the product rate allows. If it stays so and other
/// programs are to blame, refuses it, because no figure is better than a wrong one.
hardware::OperatorTime measure_on_cpu_plausibly(OperatorStage& stage,
                                                const Operator& op,
                                                const Bench& bench,
                                                const hardware::HardwareProfile& profile,
                                                const std::string& key) {
  constexpr int kTries = 3;
  const int contended = contended_so_far();
  hardware::OperatorTime best = measure_on_cpu(stage, bench, key);
  std::optional<std::string> doubt = implausible_product(op, best, profile);
  for (int i = 1; i < kTries && doubt; ++i) {
    hardware::OperatorTime again = measure_on_cpu(stage, bench, key);
    if (again.time_ns.median < best.time_ns.median) best = std::move(again);
    doubt = implausible_product(op, best, profile);
  }
  if (!doubt) return best;
  std::optional<std::string> blame = overload();
  if (!blame && contended_so_far() > contended) blame = "other programs took the cores";
  if (!blame) return best;
  throw Error(ErrorCode::kDeviceFailure, *doubt + ", and " + *blame);
}

/// Memory that a call leaves allocated: `persistent` after its first run, and `workspace` beyond
/// its results at the peak of its second run.
struct GpuBytes {
  std::int64_t workspace = 0, persistent = 0;
};

GpuBytes measure_gpu_bytes(OperatorStage& stage) {
  GpuBytes bytes;
  stage.restore();
  gpu_synchronize();
  const std::int64_t before = gpu_allocated().now_bytes;
  stage.run();
  stage.release();
  gpu_synchronize();
  gpu_reset_peak();
  const std::int64_t after = gpu_allocated().now_bytes;
  stage.run();
  bytes.workspace =
      std::max<std::int64_t>(0, gpu_allocated().peak_bytes - after - stage.fresh_bytes());
  stage.release();
  bytes.persistent = std::max<std::int64_t>(0, after - before);
  return bytes;
}

hardware::OperatorTime measure_on_gpu(OperatorStage& stage,
                                      CacheState& caches,
                                      const Bench& bench,
                                      bool by_kernels,
                                      std::string key) {
  const GpuBytes bytes = measure_gpu_bytes(stage);
  const Sampling sampling = sampling_of(bench);
  const auto run = [&] {
    stage.run();
    stage.release();
  };
  const int issued = stage.writes() ? 1 : kIssuedPerSample;
  const std::vector<double> host = sample(sampling, [&] {
    stage.restore();
    gpu_synchronize();
    return seconds_of([&] {
             for (int i = 0; i < issued; ++i) run();
           }) /
           issued;
  });
  const auto prepare = [&] {
    stage.restore();
    caches.prepare(stage.storages());
  };
  const std::vector<double> seconds = sample(sampling, [&] {
    if (!by_kernels) return gpu_work_seconds_once(prepare, run);
    prepare();
    return gpu_kernel_seconds(run);
  });
  hardware::OperatorTime time;
  time.key = std::move(key);
  time.time_ns =
      time_figure(seconds,
                  by_kernels ? "replayed call, caches as in the program, its kernels by CUPTI"
                             : "replayed call, caches as in the program, events on the GPU");
  time.workspace_bytes = bytes.workspace;
  time.host_ns = time_figure(host, "replayed call, wall clock until it returns");
  time.persistent_bytes = bytes.persistent;
  return time;
}

}  // namespace

hardware::OperatorTime measure_call_on_gpu(const Program& program,
                                           const program::Lifetimes& lifetimes,
                                           const Operator& op,
                                           const Bench& bench,
                                           bool by_kernels,
                                           std::string key) {
  const std::int64_t cache_bytes = gpu_cache_bytes();
  OperatorStage stage(program, op, /*on_cuda=*/true);
  CacheState caches(
      program::recent_uses(program, lifetimes, op.id, CacheState::limit_bytes(cache_bytes)),
      cache_bytes);
  return measure_on_gpu(stage, caches, bench, by_kernels, std::move(key));
}

bool use_kernel_timer(const Bench& bench, hardware::HardwareProfile& profile) {
  if (bench.no_kernel_timer) {
    profile.waived[kKernelTimer] = *bench.no_kernel_timer;
    return false;
  }
  profile.waived.erase(kKernelTimer);
  return true;
}

void check_target(const Program& program,
                  const Bench& bench,
                  const hardware::HardwareProfile& profile) {
  program::Target here{.kind = program::Target::Kind::kCpu, .sm = 0};
  if (bench.on_cuda()) {
    const int sm = profile.gpus.empty() ? program.target.sm : profile.gpus[0].sm;
    here = {.kind = program::Target::Kind::kCuda, .sm = sm};
  }
  here = capture::resolved(here);
  if (here.goes_with(program.target)) return;
  throw Error(ErrorCode::kProfileTargetMismatch,
              "the program is for target {}, and this measures on {}",
              program.target.text(),
              here.text())
      .help("profile the model for this device: elixir-profile MODEL.pt --target {}", here.text());
}

void measure_operators(const Program& program,
                       const Bench& bench,
                       hardware::HardwareProfile& profile,
                       std::set<std::string>& known,
                       const Progress& progress) {
  check_target(program, bench, profile);
  replay::install_counting_allocator();
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::map<std::string, std::vector<const Operator*>> distinct;
  for (const Operator& op : program.operators) {
    if (lifetimes.executed.at(op.id)) distinct[operators::operator_key(op)].push_back(&op);
  }
  for (const std::string& key : known) distinct.erase(key);
  std::map<std::string, hardware::OperatorTime> times;
  for (hardware::OperatorTime& time : profile.operators) times[time.key] = std::move(time);

  const bool by_kernels = bench.on_cuda() && use_kernel_timer(bench, profile);
  const replay::ReplayScope below_autograd;
  std::size_t done = 0;
  bool stopped = false;
  for (const auto& [key, calls] : distinct) {
    // Of equal calls, use a middle one: the first and last have unusual surroundings.
    const Operator* op = calls[calls.size() / 2];
    if (interrupted()) {
      stopped = true;
      break;
    }
    progress(static_cast<double>(done++) / static_cast<double>(distinct.size()), op->name);
    try {
      hardware::OperatorTime time;
      if (bench.on_cuda()) {
        time = measure_call_on_gpu(program, lifetimes, *op, bench, by_kernels, key);
      } else {
        OperatorStage stage(program, *op, /*on_cuda=*/false);
        time = measure_on_cpu_plausibly(stage, *op, bench, profile, key);
      }
      const hardware::OperatorWork work = hardware::work_of(*op);
      time.touched_bytes = work.touched_bytes;
      time.flops = work.flops;
      times[key] = std::move(time);
      known.insert(key);
      profile.waived.erase("operator " + key);
    } catch (const c10::AcceleratorError&) {
      replay::with_launch_errors([] { throw; });
    } catch (const Error& error) {
      if (bench.on_cuda()) gpu_synchronize();  // reports a failed GPU here
      profile.waived["operator " + key] = error.info().message;
    } catch (const c10::Error& error) {
      profile.waived["operator " + key] = error.what_without_backtrace();
    } catch (const Interrupted&) {
      stopped = true;
      break;
    }
  }
  profile.operators.clear();
  for (auto& [key, time] : times) profile.operators.push_back(std::move(time));
  if (stopped) throw_if_interrupted();
}

}  // namespace elixir::measure
