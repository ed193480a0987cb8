// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/clip_grad_norm.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "operators/scratch/script_builder.h"

namespace elixir::memory {
namespace {

/// `_foreach_norm` of gradients of one dtype
std::vector<int> foreach_norm(const ParametersOfDType& gradients, UpdateRequests& requests) {
  int partial_norms = -1;
  if (requests.on_gpu()) {
    constexpr std::int64_t kPieceElements = 65536;  // kChunkSize
    std::int64_t most_pieces = 0;
    for (const program::Parameter* each : gradients.parameters) {
      const std::int64_t pieces = (each->tensor.numel() + kPieceElements - 1) / kPieceElements;
      most_pieces = std::max(most_pieces, pieces);
    }
    partial_norms = requests.ask(std::ssize(gradients.parameters) * most_pieces *
                                 operators::accumulator_bytes(gradients.dtype));
  }
  std::vector<int> norms;
  for (std::size_t i = 0; i < gradients.parameters.size(); ++i) {
    norms.push_back(requests.ask(program::element_bytes(gradients.dtype)));
  }
  requests.release(partial_norms);
  return norms;
}

}  // namespace

void clip_grad_norm(const program::Program& program, UpdateRequests& requests) {
  const std::vector<ParametersOfDType> groups = updated_by_dtype(program);
  if (groups.size() > 1) requests.guess();
  if (groups.empty()) return;
  program::DType dtype = groups.front().dtype;
  std::vector<int> norms;
  for (const ParametersOfDType& gradients : groups) {
    // Two 16-bit dtypes would give fp32. That is left out: all of it is one block.
    if (program::element_bytes(gradients.dtype) > program::element_bytes(dtype)) {
      dtype = gradients.dtype;
    }
    for (const int norm : foreach_norm(gradients, requests)) norms.push_back(norm);
  }
  const auto stacked = operators::in_row_major_order({std::ssize(norms)}, dtype);
  const std::int64_t scalar_bytes = program::element_bytes(dtype);
  const int stack = requests.ask(stacked.bytes());
  const int total_norm = requests.reduce(stacked, {}, scalar_bytes);
  requests.release(stack);
  requests.release_list(norms);
  // max_norm / (total_norm + 1e-6)
  const int sum = requests.ask(scalar_bytes);
  const int reciprocal = requests.ask(scalar_bytes);
  const int clip_coef = requests.ask(scalar_bytes);
  requests.release(reciprocal);
  requests.release(sum);
  const int clamped = requests.ask(scalar_bytes);
  for (const int each : {clip_coef, clamped, total_norm}) requests.release(each);
}

}  // namespace elixir::memory
