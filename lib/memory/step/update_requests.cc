// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/update_requests.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "operators/scratch/reduction_scratch.h"
#include "operators/scratch/script_builder.h"

namespace elixir::memory {

using operators::ScriptStep;
using program::Parameter;
using program::Program;

std::vector<const Parameter*> updated_parameters(const Program& program) {
  std::vector<const Parameter*> parameters;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.gradient && parameter.tensor.numel() > 0) parameters.push_back(&parameter);
  }
  return parameters;
}

std::vector<ParametersOfDType> updated_by_dtype(const Program& program) {
  std::vector<ParametersOfDType> groups;
  for (const Parameter* parameter : updated_parameters(program)) {
    const program::DType dtype = parameter->tensor.dtype;
    auto group = std::find_if(groups.begin(), groups.end(), [dtype](const ParametersOfDType& each) {
      return each.dtype == dtype;
    });
    if (group == groups.end()) group = groups.insert(group, {.dtype = dtype, .parameters = {}});
    group->parameters.push_back(parameter);
  }
  return groups;
}

UpdateRequests::UpdateRequests(const program::Target& target) {
  if (target.kind != program::Target::Kind::kCuda) return;
  traits_ = operators::cuda_traits(target);
  if (!traits_->recorded) guess();
}

int UpdateRequests::ask(std::int64_t bytes) {
  script_.steps.push_back(
      {.kind = ScriptStep::Kind::kTemporary, .bytes = bytes, .temporary = count_});
  return count_++;
}

void UpdateRequests::release(int temporary) {
  if (temporary < 0) return;
  script_.steps.push_back({.kind = ScriptStep::Kind::kRelease, .temporary = temporary});
}

void UpdateRequests::release_list(const std::vector<int>& temporaries) {
  for (auto each = temporaries.rbegin(); each != temporaries.rend(); ++each) release(*each);
}

int UpdateRequests::reduce(const program::TensorRef& input,
                           const program::Ints& dimensions,
                           std::int64_t result_bytes) {
  const int result = ask(result_bytes);
  if (!traits_) return result;
  const operators::ReductionRequests requests = operators::reduction_requests(
      input, dimensions, operators::reduced_dtypes(input.dtype, input.dtype), *traits_);
  if (!requests.known) guess();
  const auto ask_if_any = [this](std::int64_t bytes) { return bytes > 0 ? ask(bytes) : -1; };
  const int sums = ask_if_any(requests.sums_bytes);
  for (const operators::ReductionScratch& kernel : requests.kernels) {
    const int buffer = ask_if_any(kernel.buffer_bytes);
    release(ask_if_any(kernel.semaphores_bytes));
    release(buffer);
  }
  release(sums);
  return result;
}

void UpdateRequests::read_norm(const program::TensorRef& tensor) {
  release(reduce(tensor, {}, program::element_bytes(tensor.dtype)));
}

operators::CallScript UpdateRequests::take() {
  return std::move(script_);
}

}  // namespace elixir::memory
