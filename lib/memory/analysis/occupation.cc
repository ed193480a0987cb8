// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/occupation.h"

#include <algorithm>
#include <vector>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "memory/step/timeline.h"
#include "program/lifetimes.h"

namespace elixir::memory {

using program::OperatorId;
using program::Program;

namespace {

/// By storage: the operator after which its gradient is final; -1 if it holds no gradient. If
/// several parameters share a gradient storage, the last one counts.
std::vector<OperatorId> gradients_final_at(const Program& program) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::vector<OperatorId> final_at(program.storages.size(), -1);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (!program.parameters[i].gradient) continue;
    OperatorId& at = final_at[static_cast<std::size_t>(program.parameters[i].gradient->storage)];
    at = std::max(at, lifetimes.gradient_ready[i]);
  }
  return final_at;
}

std::int64_t peak_beyond_the_model(const Program& program) {
  const std::size_t operators = program.operators.size();
  const std::vector<OperatorId> final_at = gradients_final_at(program);
  std::vector<std::int64_t> change(operators + 1, 0);
  for (const program::Storage& storage : program.storages) {
    if (storage.on_host || storage.allocated_at < 0) continue;
    const OperatorId gradient = final_at[static_cast<std::size_t>(storage.id)];
    const OperatorId last = gradient >= 0 ? gradient : storage.freed_after;
    const auto first = static_cast<std::size_t>(storage.allocated_at);
    const std::size_t end = std::min(static_cast<std::size_t>(last) + 1, operators);
    require(first < end, "a storage is released before it is made");
    change[first] += rounded_allocation(storage.bytes);
    change[end] -= rounded_allocation(storage.bytes);
  }
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const std::int64_t bytes : change) {
    live += bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace

Occupation occupation(const Program& program) {
  Occupation result;
  std::vector<bool> counted(program.storages.size(), false);
  const auto once = [&counted](const program::TensorRef& tensor) {
    const auto storage = static_cast<std::size_t>(tensor.storage);
    if (counted[storage]) return std::int64_t{0};
    counted[storage] = true;
    return tensor.bytes();
  };
  for (const program::Parameter& parameter : program.parameters) {
    const std::int64_t bytes = once(parameter.tensor);
    result.param_occ += bytes;
    if (parameter.gradient) result.grad_occ += bytes;
  }
  for (const program::Buffer& buffer : program.buffers) result.buffer_occ += once(buffer.tensor);
  result.activation_occ = peak_beyond_the_model(program);
  return result;
}

}  // namespace elixir::memory
