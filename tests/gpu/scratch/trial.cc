// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "gpu/scratch/trial.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/record/dispatch/recorder.h"
#include "capture/schema_calls.h"
#include "gpu/scratch/allocator_watch.h"

namespace elixir::tests {
namespace {

using capture::Values;

std::string layout_of(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return "contiguous";
  if (tensor.is_contiguous(at::MemoryFormat::ChannelsLast) ||
      tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d)) {
    return "channels-last";
  }
  if (tensor.is_non_overlapping_and_dense()) return "permuted";
  const auto strides = tensor.strides();
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0 && tensor.sizes()[i] > 1) return "expanded";
  }
  return "strided";
}

/// "Float[2, 3]:[3, 1], 0.5, ": at most as long as a line that people read.
std::string shown(const Values& arguments) {
  constexpr std::size_t kLongest = 600;
  std::string text;
  for (const c10::IValue& argument : arguments) {
    bool tensors = false;
    capture::for_each_tensor(argument, [&](const at::Tensor& tensor) {
      tensors = true;
      text += fmt::format("{}[{}]:[{}]{} ",
                          c10::toString(tensor.scalar_type()),
                          fmt::join(tensor.sizes(), ","),
                          fmt::join(tensor.strides(), ","),
                          tensor.is_cpu() ? " on host" : "");
    });
    if (!tensors) text += c10::str(argument, " ");
    if (text.size() > kLongest) return text.substr(0, kLongest) + "...";
  }
  return text;
}

/// Before the call, because it may write to its arguments.
void describe(const Values& arguments, Evidence& evidence) {
  bool first = true;
  for (const c10::IValue& argument : arguments) {
    capture::for_each_tensor(argument, [&](const at::Tensor& tensor) {
      evidence.largest_elements = std::max(evidence.largest_elements, tensor.numel());
      if (!std::exchange(first, false)) return;
      ++evidence.dtypes[c10::toString(tensor.scalar_type())];
      ++evidence.layouts[layout_of(tensor)];
    });
  }
}

std::set<std::uint64_t> addresses_of(const torch::jit::Stack& results) {
  std::set<std::uint64_t> addresses;
  for (const c10::IValue& result : results) {
    capture::for_each_tensor(result, [&](const at::Tensor& tensor) {
      if (!tensor.has_storage()) return;
      addresses.insert(reinterpret_cast<std::uint64_t>(tensor.storage().data()));
    });
  }
  return addresses;
}

struct Observed {
  program::Program program;
  Requests seen;
};

/// Runs the call. Throws what LibTorch throws.
Observed observe(const Subject& subject, const Bench& bench, const Values& arguments) {
  capture::Recorder recorder(bench.target(), capture::CaptureOn::kDevice);
  for (const c10::IValue& argument : arguments) {
    capture::for_each_tensor(argument, [&](const at::Tensor& tensor) {
      const program::TensorRef ref = recorder.declare(tensor, program::Category::kInput);
      recorder.storages.at(static_cast<std::size_t>(ref.storage)).on_host =
          bench.on_cuda() && tensor.is_cpu();
    });
  }
  torch::jit::Stack stack = arguments;
  recorder.begin(subject.handle, stack, program::Phase::kForward, 0);
  Observed observed;
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    if (bench.on_cuda()) AllocatorWatch::instance().start();
    try {
      subject.handle.callBoxed(stack);
    } catch (...) {
      if (bench.on_cuda()) AllocatorWatch::instance().stop();
      throw;
    }
    if (bench.on_cuda()) AllocatorWatch::instance().stop();
  }
  bench.wait();
  recorder.end(subject.handle, stack);
  if (bench.on_cuda()) {
    const std::set<std::uint64_t> results = addresses_of(stack);
    observed.seen = AllocatorWatch::instance().requests(
        [&](std::uint64_t address) { return results.count(address) != 0; });
  }
  recorder.finish();
  observed.program.target = bench.target();
  observed.program.operators = std::move(recorder.operators);
  observed.program.storages = std::move(recorder.storages);
  return observed;
}

const char* name_of(Difference difference) {
  switch (difference) {
    case Difference::kNone:
      return "none";
    case Difference::kOrder:
      return "order";
    case Difference::kPeak:
      return "peak";
    case Difference::kSizes:
      return "sizes";
  }
  return "";
}

/// `compared`: whether the allocator was watched.
void judge(const operators::CallScript& script,
           const Requests& seen,
           const std::string& arguments,
           bool compared,
           Evidence& evidence) {
  bool scratch = false;
  for (const Request& request : seen.list) {
    if (request.result) continue;
    scratch = true;
    evidence.add_scratch(request.bytes);
  }
  const Requests predicted = predicted_requests(script);
  const Difference found = compared ? difference(predicted, seen) : Difference::kNone;
  if (!scratch) ++evidence.without_scratch;
  if (script.source == operators::ScriptSource::kModelled) {
    ++evidence.modelled;
    if (!scratch) ++evidence.modelled_without_scratch;
    if (found == Difference::kNone) ++evidence.modelled_as_predicted;
    return;
  }
  const bool exact = script.source == operators::ScriptSource::kExact;
  ++(exact ? evidence.exact : evidence.measured);
  if (found == Difference::kNone) return;
  if (found == Difference::kSizes) ++evidence.other_sizes;
  if (found == Difference::kPeak) ++evidence.other_peak;
  if (found == Difference::kOrder) ++evidence.other_order;
  evidence.add_mismatch({.label = exact ? "exact" : "measured",
                         .kind = name_of(found),
                         .arguments = arguments,
                         .predicted = predicted.text(),
                         .seen = seen.text()});
}

/// A rule that refuses a call that LibTorch accepts is a mismatch, too.
void predict_and_judge(const Bench& bench,
                       const Observed& observed,
                       const std::string& arguments,
                       Evidence& evidence) {
  try {
    judge(bench.script(observed.program), observed.seen, arguments, bench.on_cuda(), evidence);
  } catch (const std::exception& error) {
    ++evidence.other_sizes;
    evidence.add_mismatch({.label = "rule",
                           .kind = "refused",
                           .arguments = arguments,
                           .predicted = error.what(),
                           .seen = observed.seen.text()});
  }
}

void refused(const std::string& why, Evidence& evidence) {
  constexpr std::size_t kLongest = 200;
  if (evidence.refusal.empty())
    evidence.refusal = why.substr(0, std::min(why.find('\n'), kLongest));
}

/// Makes the workspaces of cuBLAS and cuBLASLt, which the process keeps.
void make_workspaces(c10::Device device) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor matrix = at::ones({64, 64}, at::TensorOptions().device(device).dtype(dtype));
    at::mm(matrix, matrix);
    at::addmm(matrix[0], matrix, matrix);
    at::bmm(matrix.unsqueeze(0), matrix.unsqueeze(0));
  }
}

/// Adds the only call once more, with results of its own: the first call of its kind makes what the
/// process keeps, and takes its results in another order.
void repeat_call(program::Program& program) {
  program::Operator again = program.operators.at(0);
  again.id = 1;
  std::map<program::StorageId, program::StorageId> copies;
  const std::size_t count = program.storages.size();
  for (std::size_t i = 0; i < count; ++i) {
    program::Storage storage = program.storages[i];
    if (storage.allocated_at != 0) continue;
    storage.id = static_cast<program::StorageId>(program.storages.size());
    storage.allocated_at = 1;
    copies[program.storages[i].id] = storage.id;
    program.storages.push_back(storage);
  }
  program::for_each_tensor(again.outputs, [&](program::TensorRef& tensor) {
    const auto copy = copies.find(tensor.storage);
    if (copy != copies.end()) tensor.storage = copy->second;
  });
  program.operators.push_back(std::move(again));
}

program::Target target_of(c10::Device device) {
  if (!device.is_cuda()) return {.kind = program::Target::Kind::kCpu};
  const cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
  return {.kind = program::Target::Kind::kCuda, .sm = (10 * properties->major) + properties->minor};
}

}  // namespace

Bench::Bench(c10::Device device) {
  constexpr std::int64_t kLargestOnCuda = std::int64_t{1} << 24;
  constexpr std::int64_t kLargestOnCpu = std::int64_t{1} << 10;
  if (device.is_cuda()) {
    at::globalContext().lazyInitDevice(device.type());
    make_workspaces(device);
    static_cast<void>(AllocatorWatch::instance());
  }
  space_ = {.device = device, .most_elements = device.is_cuda() ? kLargestOnCuda : kLargestOnCpu};
  target_ = target_of(device);
  if (device.is_cuda()) predicted_ = target_;
  table_ = operators::shipped_workspace_table(predicted_.sm);
}

operators::CallScript Bench::script(program::Program program) const {
  program.target = predicted_;
  repeat_call(program);
  return operators::call_scripts(program, operators::cuda_traits(predicted_), table_).at(1);
}

void Bench::wait() const {
  if (on_cuda()) c10::cuda::device_synchronize();
}

bool try_call(const Subject& subject, const Bench& bench, std::uint64_t seed, Evidence& evidence) {
  ++evidence.drawn;
  std::string arguments_shown;
  try {
    capture::Random random(seed, bench.space());
    const Values arguments = subject.draw(random);
    bench.wait();
    arguments_shown = shown(arguments);
    Evidence of_call;
    describe(arguments, of_call);
    const Observed observed = observe(subject, bench, arguments);
    ++of_call.calls;
    predict_and_judge(bench, observed, arguments_shown, of_call);
    evidence.add(of_call);
  } catch (const std::exception& error) {
    const std::string why = error.what();
    try {
      bench.wait();
      refused(why, evidence);
    } catch (const std::exception& lost) {
      evidence.faults.push_back(why.substr(0, why.find('\n')) + ": " + arguments_shown);
      return false;
    }
  }
  return true;
}

}  // namespace elixir::tests
