// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_update.h"

#include <algorithm>
#include <utility>

namespace elixir::memory {
namespace {

using program::DType;
using program::Optimizer;
using program::OptimizerForm;
using program::Program;

class Requests {
 public:
  std::int32_t ask(std::int64_t bytes) {
    list_.push_back({.temporary = count_, .bytes = bytes});
    return count_++;
  }
  void release(std::int32_t temporary) {
    list_.push_back({.temporary = temporary, .releases = true});
  }
  std::vector<UpdateRequest> take() { return std::move(list_); }

 private:
  std::vector<UpdateRequest> list_;
  std::int32_t count_ = 0;
};

/// Parameters of which something is updated, in order.
std::vector<const program::Parameter*> updated(const Program& program) {
  std::vector<const program::Parameter*> parameters;
  for (const program::Parameter& parameter : program.parameters) {
    if (parameter.gradient && parameter.tensor.numel() > 0) parameters.push_back(&parameter);
  }
  return parameters;
}

/// `_foreach_sqrt` of all second moments of a dtype. A list stays until that of the next dtype is
/// there. CPython releases a list's items from the last to the first.
void foreach_square_roots(const Program& program, Requests& requests) {
  std::vector<DType> dtypes;  // in order of appearance
  for (const program::Parameter* parameter : updated(program)) {
    const DType dtype = parameter->tensor.dtype;
    if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
  }
  std::vector<std::int32_t> held;
  const auto release_all = [&] {
    for (auto root = held.rbegin(); root != held.rend(); ++root) requests.release(*root);
  };
  for (const DType dtype : dtypes) {
    std::vector<std::int32_t> roots;
    for (const program::Parameter* parameter : updated(program)) {
      if (parameter->tensor.dtype == dtype)
        roots.push_back(requests.ask(parameter->tensor.bytes()));
    }
    release_all();
    held = std::move(roots);
  }
  release_all();
}

/// `denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)`: the denominator stays until that of
/// the next parameter is there.
void denominators(const Program& program, Requests& requests) {
  std::int32_t held = -1;
  for (const program::Parameter* parameter : updated(program)) {
    const std::int32_t root = requests.ask(parameter->tensor.bytes());
    const std::int32_t denominator = requests.ask(parameter->tensor.bytes());
    requests.release(root);
    if (held >= 0) requests.release(held);
    held = denominator;
  }
  if (held >= 0) requests.release(held);
}

}  // namespace

std::vector<UpdateRequest> optimizer_update(const Program& program, program::OptimizerUse use) {
  Requests requests;
  if (use.optimizer == Optimizer::kAdamW || use.optimizer == Optimizer::kAdam) {
    if (use.form == OptimizerForm::kTorchForeach) foreach_square_roots(program, requests);
    if (use.form == OptimizerForm::kTorchLoop) denominators(program, requests);
  }
  return requests.take();
}

}  // namespace elixir::memory
