// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/operators.h"

#include <immintrin.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "capture/counting_allocator.h"
#include "capture/replay_call.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "hardware/operator_cost.h"
#include "measure/gpu_probe.h"
#include "program/lifetimes.h"
#include "program/operator_key.h"

namespace elixir::measure {
namespace {

using program::DType;
using program::Operator;
using program::Program;
using program::StorageId;
using program::TensorRef;

constexpr std::int64_t kRounding = capture::kCountedRoundingBytes;
constexpr std::size_t kCacheLineBytes = 64;
/// Calls queued behind one start on the GPU, where a call changes none of its arguments.
constexpr int kGpuCallsPerSample = 8;

/// Index tensors hold values in [0, bound): valid rows, classes or positions of the call.
std::int64_t index_bound(const Operator& op) {
  const auto tensor = [&](std::size_t i) -> const TensorRef* {
    return i < op.arguments.size() ? std::get_if<TensorRef>(&op.arguments[i]) : nullptr;
  };
  if (op.name == "aten::embedding" && tensor(0) != nullptr) return tensor(0)->sizes.at(0);
  if (op.name == "aten::embedding_dense_backward") {
    if (const auto* rows = std::get_if<std::int64_t>(&op.arguments.at(2))) return *rows;
  }
  if (op.name == "aten::nll_loss_forward" && tensor(0) != nullptr) return tensor(0)->sizes.back();
  if (op.name == "aten::nll_loss_backward" && tensor(1) != nullptr) return tensor(1)->sizes.back();
  // Valid in whatever dimension they index: no dimension of a floating tensor is shorter.
  std::int64_t bound = 1 << 20;
  const auto look = [&](const TensorRef& ref) {
    if (!program::is_floating(ref.dtype)) return;
    for (const std::int64_t size : ref.sizes) {
      if (size > 0) bound = std::min(bound, size);
    }
  };
  program::for_each_tensor(op.arguments, look);
  program::for_each_tensor(op.outputs, look);
  return bound;
}

/// Values that keep arithmetic ordinary: no denormals, no NaN, positive where a root or logarithm
/// may follow.
void fill(at::Tensor& flat, DType dtype, std::int64_t bound) {
  if (dtype == DType::kBool) {
    flat.bernoulli_(0.9);
  } else if (program::is_floating(dtype)) {
    flat.uniform_(0.1, 1.0);
  } else if (dtype == DType::kComplex64 || dtype == DType::kComplex128) {
    flat.fill_(0.5);
  } else {
    flat.random_(0, std::max<std::int64_t>(1, std::min<std::int64_t>(bound, 127)));
    if (bound > 127 && flat.element_size() > 1)
      flat.random_(0, std::min<std::int64_t>(bound, 32767));
  }
}

/// The real tensors of one call.
class Stage {
 public:
  Stage(const Program& program, const Operator& op, const Bench& bench)
      : call_(program, op.id), storages_(program.storages.size()) {
    const std::int64_t bound = index_bound(op);
    std::set<StorageId> seen;
    program::for_each_tensor(op.arguments, [&](const TensorRef& ref) {
      if (!seen.insert(ref.storage).second) return;
      const program::Storage& described = program.storages.at(ref.storage);
      // Numbers that became tensors, and what kernels read on the host (random seeds), stay there.
      const bool on_cuda = bench.on_cuda() && !described.on_host && !ref.wrapped_number;
      const at::Tensor memory =
          at::empty({std::max<std::int64_t>(described.bytes, 1)},
                    at::TensorOptions().device(on_cuda ? at::kCUDA : at::kCPU).dtype(at::kByte));
      storages_[ref.storage] = memory.storage();
      TensorRef whole;
      whole.storage = ref.storage;
      whole.dtype = ref.dtype;
      whole.sizes = {described.bytes / program::element_bytes(ref.dtype)};
      whole.strides = {1};
      at::Tensor flat = capture::make_shell(memory.storage(), whole);
      fill(flat, ref.dtype, bound);
      if (op.writes) pristine_.emplace_back(flat, flat.clone());
      if (described.category == program::Category::kParameter && !on_cuda) {
        parameters_.emplace_back(flat.data_ptr(), static_cast<std::size_t>(flat.nbytes()));
      }
    });
  }

  void run() { call_.run(storages_); }
  /// Fresh outputs, each rounded up as the allocator counts it.
  [[nodiscard]] std::int64_t fresh_bytes() const {
    std::int64_t bytes = 0;
    for (const StorageId id : call_.fresh()) {
      bytes += round_up(static_cast<std::int64_t>(storages_[id].nbytes()), kRounding);
    }
    return bytes;
  }
  void release() {
    for (const StorageId id : call_.fresh()) storages_[id] = c10::Storage();
  }
  [[nodiscard]] bool writes() const { return !pristine_.empty(); }
  void restore() {
    for (auto& [flat, copy] : pristine_) flat.copy_(copy);
  }
  /// Parameters were used long ago when a step comes back to them.
  void cool_parameters() const {
    for (const auto& [data, bytes] : parameters_) {
      for (std::size_t at = 0; at < bytes; at += kCacheLineBytes) {
        _mm_clflush(static_cast<const char*>(data) + at);
      }
    }
    _mm_mfence();
  }

 private:
  capture::ReplayCall call_;
  capture::StorageTable storages_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pristine_;
  std::vector<std::pair<const void*, std::size_t>> parameters_;
};

Sampling sampling_of(const Bench& bench) {
  return bench.effort == Effort::kFull ? Sampling{2, 7, 30, 0.12} : Sampling{1, 3, 10, 0.02};
}

hardware::OperatorTime measure_on_cpu(Stage& stage, const Bench& bench, std::string key) {
  capture::DeviceAccount& account = capture::DeviceAccount::instance();
  std::int64_t workspace = 0;
  const std::vector<double> seconds = sample(sampling_of(bench), [&] {
    stage.restore();
    stage.cool_parameters();
    const std::int64_t before = account.charged_bytes();
    account.reset_peak();
    const capture::ChargeScope charge;
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

hardware::OperatorTime measure_on_gpu(Stage& stage, const Bench& bench, std::string key) {
  std::int64_t workspace = 0;
  {
    stage.restore();
    gpu_synchronize();
    gpu_reset_peak();
    const std::int64_t before = gpu_allocated().now_bytes;
    stage.run();
    const std::int64_t fresh = stage.fresh_bytes();
    workspace = gpu_allocated().peak_bytes - before - fresh;
    stage.release();
    // What a library keeps (a matrix workspace) is allocated by the first call and no part of the
    // next.
    gpu_synchronize();
    gpu_reset_peak();
    const std::int64_t again = gpu_allocated().now_bytes;
    stage.run();
    workspace = std::min(workspace, gpu_allocated().peak_bytes - again - stage.fresh_bytes());
    stage.release();
  }
  const int calls = stage.writes() ? 1 : kGpuCallsPerSample;
  const std::vector<double> seconds = sample(sampling_of(bench), [&] {
    return gpu_work_seconds_once([&] { stage.restore(); },
                                 [&] {
                                   for (int i = 0; i < calls; ++i) {
                                     stage.run();
                                     stage.release();
                                   }
                                 }) /
           calls;
  });
  return {std::move(key),
          time_figure(seconds, "replayed call, events on the GPU"),
          std::max<std::int64_t>(0, workspace)};
}

void check_target(const Program& program,
                  const Bench& bench,
                  const hardware::HardwareProfile& profile) {
  const bool cuda = program.target.kind == program::Target::Kind::kCuda;
  const bool same_sm = !cuda || profile.gpus.empty() || profile.gpus[0].sm == program.target.sm;
  if (cuda == bench.on_cuda() && same_sm) return;
  throw Error(ErrorCode::kProfileTargetMismatch,
              fmt::format("the program is for target {}, and this measures on {}",
                          program.target.text(),
                          bench.on_cuda() ? fmt::format("cuda:sm_{}", profile.gpus.at(0).sm)
                                          : std::string("cpu")),
              {fmt::format("profile the model for this device: elixir-profile MODEL.pt --target {}",
                           bench.on_cuda() ? fmt::format("cuda:sm_{}", profile.gpus.at(0).sm)
                                           : std::string("cpu"))});
}

}  // namespace

void measure_operators(const Program& program,
                       const Bench& bench,
                       hardware::HardwareProfile& profile,
                       const Progress& progress) {
  check_target(program, bench, profile);
  capture::install_counting_allocator();
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::map<std::string, const Operator*> distinct;
  for (const Operator& op : program.operators) {
    if (lifetimes.executed.at(op.id)) distinct.emplace(program::operator_key(op), &op);
  }
  std::map<std::string, hardware::OperatorTime> times;
  for (hardware::OperatorTime& time : profile.operators) times[time.key] = std::move(time);

  const capture::ReplayScope below_autograd;
  std::size_t done = 0;
  bool stopped = false;
  for (const auto& [key, op] : distinct) {
    if (interrupted()) {
      stopped = true;
      break;
    }
    progress(static_cast<double>(done++) / static_cast<double>(distinct.size()), op->name);
    try {
      Stage stage(program, *op, bench);
      hardware::OperatorTime time =
          bench.on_cuda() ? measure_on_gpu(stage, bench, key) : measure_on_cpu(stage, bench, key);
      const hardware::OperatorWork work = hardware::work_of(*op);
      time.touched_bytes = work.touched_bytes;
      time.flops = work.flops;
      times[key] = std::move(time);
      profile.waived.erase("operator " + key);
    } catch (const Error& error) {
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
