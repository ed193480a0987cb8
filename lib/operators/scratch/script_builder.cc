// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/script_builder.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "operators/scratch/evidence/call_form.h"
#include "operators/scratch/evidence/known_without_scratch.h"
#include "operators/scratch/reduction_scratch.h"

namespace elixir::operators {

using program::TensorRef;

ScriptBuilder::ScriptBuilder(const program::Operator& op,
                             std::vector<program::StorageId> fresh,
                             const program::Program& program,
                             const CudaTraits& traits)
    : op_(op),
      arguments_(op),
      program_(program),
      traits_(traits),
      fresh_(std::move(fresh)),
      there_(fresh_.size(), false) {}

std::int64_t ScriptBuilder::output_bytes(std::size_t position) const {
  return program_.storages[static_cast<std::size_t>(fresh_.at(position))].bytes;
}

bool ScriptBuilder::is_on_host(const TensorRef& tensor) const {
  return program_.storages.at(static_cast<std::size_t>(tensor.storage)).on_host;
}

bool ScriptBuilder::was_recorded() const {
  return traits_.recorded && is_within_32_bits(op_) && is_recorded_form(call_form(op_, program_));
}

void ScriptBuilder::output(std::size_t position) {
  if (position >= fresh_.size() || there_[position]) return;
  there_[position] = true;
  steps_.push_back({.kind = ScriptStep::Kind::kOutput,
                    .bytes = output_bytes(position),
                    .storage = fresh_[position]});
}

void ScriptBuilder::outputs() {
  for (std::size_t i = 0; i < fresh_.size(); ++i) output(i);
}

int ScriptBuilder::temporary(std::int64_t bytes) {
  if (bytes <= 0) return -1;
  steps_.push_back(
      {.kind = ScriptStep::Kind::kTemporary, .bytes = bytes, .temporary = temporaries_});
  held_.push_back(temporaries_);
  return temporaries_++;
}

void ScriptBuilder::release(int temporary) {
  const auto held = std::find(held_.begin(), held_.end(), temporary);
  if (held == held_.end()) return;
  held_.erase(held);
  steps_.push_back({.kind = ScriptStep::Kind::kRelease, .temporary = temporary});
}

void ScriptBuilder::persistent(std::int64_t bytes) {
  steps_.push_back({.kind = ScriptStep::Kind::kPersistent, .bytes = bytes, .once = true});
}

void ScriptBuilder::once(std::int64_t bytes) {
  const int made = temporary(bytes);
  release(made);
  for (ScriptStep& step : steps_) {
    if (step.temporary == made) step.once = true;
  }
}

void ScriptBuilder::reduce(const TensorRef& input,
                           const program::Ints& dimensions,
                           program::DType result) {
  const ReductionRequests requests =
      reduction_requests(input, dimensions, reduced_dtypes(input.dtype, result), traits_);
  if (!requests.known) modelled();
  const int sums = temporary(requests.sums_bytes);
  for (const ReductionScratch& kernel : requests.kernels) {
    const int buffer = temporary(kernel.buffer_bytes);
    release(temporary(kernel.semaphores_bytes));
    release(buffer);
  }
  release(sums);
}

void ScriptBuilder::modelled_beyond_32_bits() {
  if (!is_within_32_bits(op_)) modelled();
}

CallScript ScriptBuilder::finish() {
  outputs();
  while (!held_.empty()) release(held_.back());
  return {std::move(steps_), source_};
}

bool is_within_32_bits(const TensorRef& tensor) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (tensor.numel() > kMost) return false;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    elements += (tensor.sizes[i] - 1) * tensor.strides[i];
  }
  return elements <= (kMost - 1) / program::element_bytes(tensor.dtype);
}

bool is_within_32_bits(const program::Operator& op) {
  bool within = true;
  const auto look = [&within](const TensorRef& tensor) {
    within = within && is_within_32_bits(tensor);
  };
  program::for_each_tensor(op.arguments, look);
  program::for_each_tensor(op.outputs, look);
  return within;
}

bool is_contiguous(const TensorRef& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] == 1) continue;
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.sizes[i];
  }
  return true;
}

bool is_evenly_spaced(const TensorRef& tensor) {
  std::optional<std::int64_t> expected;  // the stride that continues the dimensions after this one
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] == 1) continue;
    if (expected.has_value() && tensor.strides[i] != *expected) return false;
    expected = tensor.sizes[i] * tensor.strides[i];
  }
  return true;
}

TensorRef in_row_major_order(program::Ints sizes, program::DType dtype) {
  TensorRef tensor;
  tensor.dtype = dtype;
  tensor.sizes = std::move(sizes);
  tensor.strides.assign(tensor.sizes.size(), 1);
  for (std::size_t i = tensor.sizes.size(); i-- > 1;) {
    tensor.strides[i - 1] = tensor.strides[i] * tensor.sizes[i];
  }
  return tensor;
}

bool is_one_block(const TensorRef& tensor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, size
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] != 1) dimensions.emplace_back(tensor.strides[i], tensor.sizes[i]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

TensorRef converted(const TensorRef& tensor, program::DType dtype) {
  if (!is_one_block(tensor)) return in_row_major_order(tensor.sizes, dtype);
  TensorRef copy = tensor;
  copy.dtype = dtype;
  copy.offset = 0;
  return copy;
}

std::int64_t accumulator_bytes(program::DType dtype) {
  const std::int64_t bytes = program::element_bytes(dtype);
  return program::is_floating(dtype) ? std::max(kFloatBytes, bytes) : bytes;
}

ReducedDTypes reduced_dtypes(program::DType input, program::DType result) {
  const bool half = result == program::DType::kFloat16 || result == program::DType::kBFloat16;
  return {.input_bytes = program::element_bytes(input),
          .result_bytes = program::element_bytes(result),
          .accumulator_bytes = accumulator_bytes(input),
          .sums_in_result = !half};
}

void estimate_library_call(ScriptBuilder& script) {
  script.modelled();
  script.outputs();
  script.temporary(bytes_read(script.op()));
}

std::int64_t bytes_read(const program::Operator& op) {
  std::int64_t bytes = 0;
  program::for_each_tensor(op.arguments,
                           [&bytes](const TensorRef& tensor) { bytes += tensor.bytes(); });
  return bytes;
}

const TensorRef* first_output(const program::Operator& op) {
  const TensorRef* first = nullptr;
  program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
    if (first == nullptr) first = &tensor;
  });
  return first;
}

}  // namespace elixir::operators
