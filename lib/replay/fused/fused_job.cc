// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/fused/fused_job.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include <ATen/ops/empty_strided.h>

namespace elixir::replay {
namespace {

/// The steps of a text, read once in a process.
std::shared_ptr<const operators::FusedProgram> program_of(const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const operators::FusedProgram>, std::less<>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& program = known[text];
  if (!program) {
    auto parsed = operators::parse_fused_program(text);
    TORCH_CHECK_VALUE(parsed, "a fused operator has steps that are none: ", text);
    program = std::make_shared<const operators::FusedProgram>(std::move(*parsed));
  }
  return program;
}

/// By tensor: strides over the shape, 0 where nothing is stepped over.
using Strides = std::vector<std::vector<std::int64_t>>;

std::vector<std::int64_t> strides_over(const at::Tensor& tensor, at::IntArrayRef shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  TORCH_CHECK_VALUE(tensor.dim() <= rank, "a tensor of a fused operator has too many dimensions");
  std::vector<std::int64_t> strides(shape.size(), 0);
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) == 1) continue;
    const auto at = static_cast<std::size_t>(rank - tensor.dim() + d);
    TORCH_CHECK_VALUE(tensor.size(d) == shape[at],
                      "a tensor of a fused operator does not broadcast to its shape");
    strides[at] = tensor.stride(d);
  }
  return strides;
}

/// Removes what is stepped over only once, and joins dimensions that are one for every tensor.
void join_dimensions(std::vector<std::int64_t>& sizes, Strides& strides, std::size_t keep_last) {
  const auto remove = [&](std::size_t d) {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(d));
    for (auto& of : strides) of.erase(of.begin() + static_cast<std::ptrdiff_t>(d));
  };
  for (std::size_t d = sizes.size() - keep_last; d-- > 0;) {
    if (sizes[d] == 1) remove(d);
  }
  for (std::size_t d = sizes.size(); d-- > 1;) {
    if (d + keep_last >= sizes.size() && keep_last > 0) continue;
    const bool joins = std::all_of(strides.begin(), strides.end(), [&](const auto& of) {
      return of[d - 1] == of[d] * sizes[d];
    });
    if (!joins) continue;
    sizes[d] *= sizes[d - 1];
    remove(d - 1);
  }
}

bool is_value(c10::ScalarType dtype) {
  return dtype == c10::kFloat || dtype == c10::kBFloat16 || dtype == c10::kHalf;
}

}  // namespace

std::int64_t FusedTensor::offset_of(std::int64_t row,
                                    const std::vector<std::int64_t>& row_sizes) const {
  std::int64_t offset = 0;
  for (std::size_t d = row_sizes.size(); d-- > 0;) {
    offset += row % row_sizes[d] * row_strides[d];
    row /= row_sizes[d];
  }
  return offset;
}

operators::FusedPasses FusedJob::passes() const {
  std::vector<bool> per_row;
  for (const FusedTensor& input : inputs) per_row.push_back(input.per_row);
  auto passes = operators::passes_of(*program, per_row, stored);
  TORCH_CHECK_VALUE(passes, "the steps of a fused operator do not fit its tensors: ", text);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK_VALUE(
        !outputs[i].per_row || passes->per_row[static_cast<std::size_t>(stored[i])],
        "a fused operator stores a value of each element where there is room for one a row");
  }
  return std::move(*passes);
}

std::vector<at::Tensor> fused_results(const FusedArguments& arguments) {
  const at::IntArrayRef shape = arguments.shape;
  TORCH_CHECK_VALUE(
      !shape.empty() && std::all_of(shape.begin(), shape.end(), [](auto n) { return n > 0; }),
      "a fused operator needs a shape");
  TORCH_CHECK_VALUE(!arguments.inputs.empty(), "a fused operator needs an input");
  TORCH_CHECK_VALUE(
      arguments.stored.size() == arguments.dtypes.size() + arguments.updated.size() &&
          arguments.strides.size() == arguments.dtypes.size() * shape.size() &&
          arguments.inputs.size() + arguments.stored.size() <= operators::kMostFusedTensors,
      "a fused operator has results that do not fit each other");
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < arguments.dtypes.size(); ++i) {
    const auto dtype = static_cast<c10::ScalarType>(arguments.dtypes[i]);
    TORCH_CHECK_TYPE(is_value(dtype), "a fused operator does not make this dtype");
    const at::IntArrayRef strides = arguments.strides.slice(i * shape.size(), shape.size());
    std::vector<std::int64_t> sizes = shape.vec();
    if (strides.back() == 0) sizes.back() = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      TORCH_CHECK_VALUE(strides[d] >= 0 && (strides[d] > 0 || sizes[d] == 1),
                        "a result of a fused operator overlaps itself");
    }
    results.push_back(
        at::empty_strided(sizes, strides, arguments.inputs.front().options().dtype(dtype)));
  }
  return results;
}

FusedJob fused_job(const FusedArguments& arguments, const std::vector<at::Tensor>& results) {
  FusedJob job;
  job.text = arguments.program;
  job.program = program_of(arguments.program);
  job.sums = std::any_of(job.program->begin(), job.program->end(), [](const auto& step) {
    return step.kind == operators::FusedStep::Kind::kSum;
  });
  job.stored = arguments.stored.vec();
  Strides strides;
  const c10::Device device = arguments.inputs.front().device();
  const auto add = [&](const at::Tensor& tensor, std::vector<FusedTensor>& to) {
    TORCH_CHECK_VALUE(tensor.device() == device, "a fused operator needs tensors of one device");
    const bool is_output = &to == &job.outputs;
    TORCH_CHECK_TYPE(
        is_value(tensor.scalar_type()) || (!is_output && tensor.scalar_type() == c10::kBool),
        "a fused operator does not take ",
        tensor.scalar_type());
    strides.push_back(strides_over(tensor, arguments.shape));
    FusedTensor added;
    added.data = const_cast<void*>(tensor.const_data_ptr());  // NOLINT: outputs are written
    added.dtype = tensor.scalar_type();
    to.push_back(std::move(added));
  };
  for (const at::Tensor& input : arguments.inputs) add(input, job.inputs);
  for (const at::Tensor& result : results) add(result, job.outputs);
  for (const at::Tensor& updated : arguments.updated) add(updated, job.outputs);

  std::vector<std::int64_t> sizes = arguments.shape.vec();
  join_dimensions(sizes, strides, job.sums ? 1 : 0);
  const bool dense = !sizes.empty() && std::all_of(strides.begin(), strides.end(), [](auto& of) {
    return of.back() == 0 || of.back() == 1;
  });
  TORCH_CHECK_VALUE(dense || !job.sums, "a fused operator sums rows that are not dense");
  if (dense) job.columns = sizes.back();
  const auto row_dimensions = sizes.size() - (dense ? 1 : 0);
  job.row_sizes.assign(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(row_dimensions));
  for (const std::int64_t size : job.row_sizes) job.rows *= size;
  std::size_t position = 0;
  for (auto* list : {&job.inputs, &job.outputs}) {
    for (FusedTensor& tensor : *list) {
      const std::vector<std::int64_t>& of = strides[position++];
      tensor.per_row = !dense || of.back() == 0;
      tensor.row_strides.assign(of.begin(),
                                of.begin() + static_cast<std::ptrdiff_t>(row_dimensions));
    }
  }
  return job;
}

}  // namespace elixir::replay
