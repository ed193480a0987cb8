// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/step_memory.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "capture/record/autograd_step.h"
#include "core/error.h"
#include "memory/step/optimizer_state.h"
#include "replay/cuda_status.h"
#include "replay/program_replay.h"
#include "replay/replay_call.h"

namespace elixir::runtime {
namespace {

using memory::OptimizerTensor;
using memory::RecordedEvent;
using program::Program;
using replay::check_cuda;
using TraceEntry = c10::CachingDeviceAllocator::TraceEntry;

constexpr c10::DeviceIndex kMeasuredDevice = 0;
constexpr std::size_t kMostEvents = 5'000'000;

const at::TensorOptions kBytesOnGpu = at::TensorOptions().device(at::kCUDA).dtype(at::kByte);

void synchronize() {
  check_cuda(cudaDeviceSynchronize(), "waiting for the GPU");
}

cudaDeviceProp properties_of_gpu() {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, kMeasuredDevice), "asking the GPU");
  return properties;
}

void check_machine(const program::Target& target) {
  if (const auto why = replay::why_no_gpu()) {
    throw Error(ErrorCode::kNoGpu, "there is no GPU to measure on: {}", *why)
        .help("leave out --measure: predictions need no GPU");
  }
  const cudaDeviceProp properties = properties_of_gpu();
  const int sm = properties.major * 10 + properties.minor;
  if (sm != target.sm) {
    throw Error(ErrorCode::kWrongMachineKind,
                "the target is {}, this machine's {} is cuda:sm_{}",
                target.text(),
                properties.name,
                sm)
        .help("measure with --target cuda:sm_{}", sm);
  }
}

/// Records the requests to the allocator while it lives.
class Recording {
 public:
  explicit Recording(const program::Target& target) {
    check_machine(target);
    at::globalContext().lazyInitDevice(c10::kCUDA);
    record(true);
  }
  ~Recording() { record(false); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] MeasuredMemory take() const {
    synchronize();
    MeasuredMemory measured;
    measured.device = properties_of_gpu().name;
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(kMeasuredDevice);
    measured.peak_allocated_bytes = stats.allocated_bytes[0].peak;
    measured.peak_reserved_bytes = stats.reserved_bytes[0].peak;
    std::size_t free_bytes = 0, total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    measured.used_bytes = static_cast<std::int64_t>(total_bytes - free_bytes);
    measured.events = events();
    return measured;
  }

 private:
  static void record(bool enabled) {
    c10::cuda::CUDACachingAllocator::recordHistory(
        enabled,
        nullptr,
        kMostEvents,
        c10::CachingDeviceAllocator::RecordContext::NEVER,
        /*clearHistory=*/true,
        /*skip_actions=*/{});
  }
  static std::vector<RecordedEvent> events() {
    const auto snapshot = c10::cuda::CUDACachingAllocator::snapshot();
    std::vector<RecordedEvent> events;
    std::map<std::size_t, std::int64_t> live;
    std::int64_t count = 0;
    for (const TraceEntry& entry : snapshot.device_traces.at(kMeasuredDevice)) {
      if (entry.action_ == TraceEntry::ALLOC) {
        live[entry.addr_] = count;
        events.push_back({.kind = RecordedEvent::Kind::kAllocate,
                          .allocation = count++,
                          .bytes = static_cast<std::int64_t>(entry.size_)});
      } else if (entry.action_ == TraceEntry::FREE_REQUESTED) {
        const auto found = live.find(entry.addr_);
        require(found != live.end(), "the allocator freed memory that it had not allocated");
        events.push_back({.kind = RecordedEvent::Kind::kFree, .allocation = found->second});
        live.erase(found);
      }
    }
    return events;
  }
};

/// Allocates masters before the first step, and the other state after the first backward pass.
class OptimizerMemory {
 public:
  OptimizerMemory(const Program& program, program::Optimizer optimizer)
      : state_(memory::optimizer_state(program, optimizer)) {
    make(true);
  }
  void after_first_backward() { make(false); }

 private:
  void make(bool masters) {
    for (const OptimizerTensor& tensor : state_) {
      if ((tensor.part == memory::OptimizerPart::kMaster) == masters && tensor.elements > 0) {
        held_.push_back(at::empty({tensor.bytes()}, kBytesOnGpu));
      }
    }
  }
  std::vector<OptimizerTensor> state_;
  std::vector<at::Tensor> held_;
};

/// The trainer's replay with every storage on the GPU.
class Replay {
 public:
  explicit Replay(const capture::Captured& captured)
      : replay_(captured.program), storages_(captured.program.storages.size()) {
    const Program& program = captured.program;
    for (const program::Parameter& parameter : program.parameters) bind(parameter.tensor, false);
    for (const program::Buffer& buffer : program.buffers) bind(buffer.tensor, false);
    for (const program::Input& input : program.inputs) bind(input.tensor, true);
    for (const auto& [id, tensor] : captured.constants) {
      const bool on_host = program.storages[static_cast<std::size_t>(id)].on_host;
      keep(id, on_host ? tensor : tensor.to(at::kCUDA));
    }
  }

  void run() {
    const replay::ReplayScope below_autograd;
    const auto end = static_cast<program::OperatorId>(replay_.program().operators.size());
    replay_.run(storages_, 0, end);
  }
  /// Releases the loss and the gradients.
  void release() { replay_.release_produced(storages_); }

 private:
  /// Binds values that every operator accepts: zeros, as in the autograd step, and ones for inputs.
  void bind(const program::TensorRef& ref, bool input) {
    if (storages_[static_cast<std::size_t>(ref.storage)]) return;
    const std::int64_t bytes =
        replay_.program().storages[static_cast<std::size_t>(ref.storage)].bytes;
    const c10::ScalarType dtype = capture::scalar_type(ref.dtype);
    const std::int64_t elements = bytes / program::element_bytes(ref.dtype);
    const auto options = at::TensorOptions().device(at::kCUDA).dtype(dtype);
    keep(ref.storage,
         input && at::isFloatingType(dtype) ? at::ones({elements}, options)
                                            : at::zeros({elements}, options));
  }
  void keep(program::StorageId id, const at::Tensor& tensor) {
    storages_[static_cast<std::size_t>(id)] = tensor.storage();
  }

  replay::ProgramReplay replay_;
  replay::StorageTable storages_;
};

/// Turns LibTorch's out-of-memory exception into an Error.
template <class Work>
MeasuredMemory guarded(Work work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    throw Error(ErrorCode::kOutOfMemory, error.what_without_backtrace());
  }
}

}  // namespace

MeasuredMemory measure_autograd(const capture::Model& model,
                                const capture::Options& options,
                                const Program& program,
                                program::Optimizer optimizer,
                                int steps) {
  return guarded([&] {
    const Recording recording(program.target);
    capture::AutogradStep step(model, options);
    OptimizerMemory state(program, optimizer);
    for (int i = 0; i < steps; ++i) {
      at::Tensor loss = step.run();
      if (i == 0) state.after_first_backward();
      synchronize();
      loss.reset();
      step.clear_gradients();
    }
    return recording.take();
  });
}

MeasuredMemory measure_replay(const capture::Captured& captured,
                              program::Optimizer optimizer,
                              int steps) {
  return guarded([&] {
    const Recording recording(captured.program.target);
    Replay replay(captured);
    OptimizerMemory state(captured.program, optimizer);
    for (int i = 0; i < steps; ++i) {
      replay.run();
      if (i == 0) state.after_first_backward();
      synchronize();
      replay.release();
    }
    return recording.take();
  });
}

}  // namespace elixir::runtime
