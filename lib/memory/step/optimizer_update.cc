// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_update.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace elixir::memory {
namespace {

using operators::ScriptStep;
using program::DType;
using program::Optimizer;
using program::OptimizerForm;
using program::Program;

class Requests {
 public:
  int ask(std::int64_t bytes) {
    script_.steps.push_back(
        {.kind = ScriptStep::Kind::kTemporary, .bytes = bytes, .temporary = count_});
    return count_++;
  }
  void release(int temporary) {
    script_.steps.push_back({.kind = ScriptStep::Kind::kRelease, .temporary = temporary});
  }
  /// From here on nobody knows whether PyTorch does it in this order.
  void guess() { script_.source = operators::ScriptSource::kModelled; }
  operators::CallScript take() { return std::move(script_); }

 private:
  operators::CallScript script_{.steps = {}, .source = operators::ScriptSource::kExact};
  int count_ = 0;
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
  if (dtypes.size() > 1) requests.guess();
  std::vector<int> held;
  const auto release_all = [&] {
    for (auto root = held.rbegin(); root != held.rend(); ++root) requests.release(*root);
  };
  for (const DType dtype : dtypes) {
    std::vector<int> roots;
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
  int held = -1;
  for (const program::Parameter* parameter : updated(program)) {
    const int root = requests.ask(parameter->tensor.bytes());
    const int denominator = requests.ask(parameter->tensor.bytes());
    requests.release(root);
    if (held >= 0) requests.release(held);
    held = denominator;
  }
  if (held >= 0) requests.release(held);
}

}  // namespace

operators::CallScript optimizer_update(const Program& program, program::OptimizerUse use) {
  Requests requests;
  if (use.optimizer == Optimizer::kAdamW || use.optimizer == Optimizer::kAdam) {
    if (use.form == OptimizerForm::kTorchForeach) foreach_square_roots(program, requests);
    if (use.form == OptimizerForm::kTorchLoop) denominators(program, requests);
  }
  return requests.take();
}

}  // namespace elixir::memory
