// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_update.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "memory/step/adafactor.h"
#include "memory/step/clip_grad_norm.h"
#include "memory/step/update_requests.h"

namespace elixir::memory {
namespace {

using program::Optimizer;
using program::OptimizerForm;
using program::Program;

/// As many lists of temporaries as `lists`, one after the other, for all parameters of a dtype: for
/// example `_foreach_sqrt` of the second moments. A list stays until that of the next dtype is
/// there.
void foreach_lists(const Program& program, std::size_t lists, UpdateRequests& requests) {
  const std::vector<ParametersOfDType> groups = updated_by_dtype(program);
  if (groups.size() > 1) requests.guess();
  std::vector<std::vector<int>> held(lists);
  for (const ParametersOfDType& group : groups) {
    for (std::vector<int>& list : held) {
      std::vector<int> made;
      for (const program::Parameter* parameter : group.parameters) {
        made.push_back(requests.ask(parameter->tensor.bytes()));
      }
      requests.release_list(std::exchange(list, std::move(made)));
    }
  }
  for (const std::vector<int>& list : held) requests.release_list(list);
}

/// `avg = square_avg.sqrt()`: it stays until that of the next parameter is there.
void square_roots(const Program& program, UpdateRequests& requests) {
  int held = -1;
  for (const program::Parameter* parameter : updated_parameters(program)) {
    requests.release(std::exchange(held, requests.ask(parameter->tensor.bytes())));
  }
  requests.release(held);
}

/// `denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)`: the denominator stays until
/// that of the next parameter is there.
void denominators(const Program& program, UpdateRequests& requests) {
  int held = -1;
  for (const program::Parameter* parameter : updated_parameters(program)) {
    const int root = requests.ask(parameter->tensor.bytes());
    const int denominator = requests.ask(parameter->tensor.bytes());
    requests.release(root);
    requests.release(std::exchange(held, denominator));
  }
  requests.release(held);
}

/// Whether updates of parameters with these dtypes were recorded.
bool has_recorded_dtype(const Program& program) {
  const std::vector<ParametersOfDType> groups = updated_by_dtype(program);
  return std::all_of(groups.begin(), groups.end(), [](const ParametersOfDType& group) {
    return group.dtype == program::DType::kFloat32 || group.dtype == program::DType::kBFloat16;
  });
}

}  // namespace

void require_possible_update(const Program& program, program::OptimizerUse use) {
  const bool is_adafactor = use.optimizer == Optimizer::kAdafactor;
  if (!use.is_torch() || (!is_adafactor && use.form != OptimizerForm::kTorchFused)) return;
  for (const program::Parameter* parameter : updated_parameters(program)) {
    if (!program::is_complex(parameter->tensor.dtype)) continue;
    throw Error(ErrorCode::kConflictingFlags,
                "{} does not update complex parameters, and `{}` is {}",
                is_adafactor ? "torch.optim.Adafactor" : "a fused optimizer of torch.optim",
                parameter->name,
                name_of(parameter->tensor.dtype))
        .help(is_adafactor ? "choose another --optimizer, such as adamw"
                           : "choose --optimizer-form torch-foreach or torch-loop");
  }
}

OptimizerUpdate optimizer_update(const Program& program, program::OptimizerUse use) {
  UpdateRequests clipping(program.target);
  if (use.clips_by_torch()) clip_grad_norm(program, clipping);
  UpdateRequests update(program.target);
  if (!has_recorded_dtype(program)) {
    clipping.guess();
    update.guess();
  }
  const bool foreach = use.form == OptimizerForm::kTorchForeach;
  const bool loop = use.form == OptimizerForm::kTorchLoop;
  if (use.optimizer == Optimizer::kAdamW || use.optimizer == Optimizer::kAdam) {
    if (foreach) foreach_lists(program, 1, update);
    if (loop) denominators(program, update);
  }
  if (use.optimizer == Optimizer::kRmsprop || use.optimizer == Optimizer::kAdagrad) {
    // Adagrad also multiplies all gradients by their rates.
    if (foreach) foreach_lists(program, use.optimizer == Optimizer::kAdagrad ? 2 : 1, update);
    if (loop) square_roots(program, update);
  }
  if (use.optimizer == Optimizer::kAdafactor) {
    if (foreach) adafactor_foreach(program, update);
    if (loop) adafactor_loop(program, update);
  }
  return {.clipping = clipping.take(), .update = update.take()};
}

}  // namespace elixir::memory
