// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/adafactor.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "memory/step/optimizer_state.h"
#include "operators/scratch/script_builder.h"

namespace elixir::memory {
namespace {

using program::Parameter;
using program::TensorRef;

bool is_matrix(const Parameter& parameter) {
  return parameter.tensor.sizes.size() > 1;
}

/// A dense tensor: a part of Adafactor's state, or one of the parameter's shape.
TensorRef state_of(const Parameter& parameter, OptimizerPart part) {
  return operators::in_row_major_order(state_sizes(part, parameter.tensor.sizes),
                                       parameter.tensor.dtype);
}
TensorRef estimate_of(const Parameter& parameter) {
  return operators::in_row_major_order(parameter.tensor.sizes, parameter.tensor.dtype);
}

/// `torch.norm(grad, dim=-1, keepdim=True)`, or dim=-2 for columns. A gradient is laid out as its
/// parameter.
int norms(const Parameter& parameter, OptimizerPart part, UpdateRequests& requests) {
  const std::int64_t dimension = part == OptimizerPart::kRowVariance ? -1 : -2;
  return requests.reduce(parameter.tensor, {dimension}, state_of(parameter, part).bytes());
}

/// `row_var.mean(dim=-2, keepdim=True)`
int mean_of_rows(const Parameter& parameter, UpdateRequests& requests) {
  const TensorRef rows = state_of(parameter, OptimizerPart::kRowVariance);
  return requests.reduce(rows, {-2}, rows.bytes() / rows.sizes[rows.sizes.size() - 2]);
}

/// The lists of one group: all matrices or all vectors of a dtype.
class Group {
 public:
  Group(std::vector<const Parameter*> parameters, UpdateRequests& requests)
      : parameters_(std::move(parameters)), requests_(requests) {}

  /// Returns `updates`; `before` are those of the group before, which stay until then.
  std::vector<int> update(const std::vector<int>& before) {
    for (const Parameter* parameter : parameters_) requests_.read_norm(parameter->tensor);
    std::vector<int> updates =
        is_matrix(*parameters_.front()) ? estimates_of_matrices() : estimates_of_vectors();
    requests_.release_list(before);
    for (const Parameter* parameter : parameters_) requests_.read_norm(estimate_of(*parameter));
    return updates;
  }

 private:
  template <typename Make>
  std::vector<int> list(const Make& make) {
    std::vector<int> made;
    for (const Parameter* parameter : parameters_) made.push_back(make(*parameter));
    return made;
  }
  std::vector<int> like_parameters() {
    return list([this](const Parameter& each) { return requests_.ask(each.tensor.bytes()); });
  }

  std::vector<int> estimates_of_matrices() {
    for (const OptimizerPart part : {OptimizerPart::kRowVariance, OptimizerPart::kColumnVariance}) {
      requests_.release_list(
          list([&](const Parameter& each) { return norms(each, part, requests_); }));
    }
    std::vector<int> estimates = like_parameters();
    requests_.release_list(
        list([this](const Parameter& each) { return mean_of_rows(each, requests_); }));
    return estimates;
  }
  std::vector<int> estimates_of_vectors() {
    requests_.release_list(like_parameters());  // grads_squared
    return like_parameters();
  }

  std::vector<const Parameter*> parameters_;
  UpdateRequests& requests_;
};

}  // namespace

void adafactor_loop(const program::Program& program, UpdateRequests& requests) {
  if (updated_by_dtype(program).size() > 1) requests.guess();  // never recorded
  // Each stays until the next of its name is there.
  int row_mean = -1;
  int col_mean = -1;
  int grad_squared = -1;
  int update = -1;
  const auto replace = [&requests](int& held, int next) {
    requests.release(std::exchange(held, next));
  };
  for (const Parameter* parameter : updated_parameters(program)) {
    const std::int64_t bytes = parameter->tensor.bytes();
    requests.read_norm(parameter->tensor);
    int var_estimate = -1;
    if (is_matrix(*parameter)) {
      replace(row_mean, norms(*parameter, OptimizerPart::kRowVariance, requests));
      replace(col_mean, norms(*parameter, OptimizerPart::kColumnVariance, requests));
      var_estimate = requests.ask(bytes);
      requests.release(mean_of_rows(*parameter, requests));
    } else {
      replace(grad_squared, requests.ask(bytes));
      var_estimate = requests.ask(bytes);
    }
    replace(update, var_estimate);
    requests.read_norm(estimate_of(*parameter));
  }
  for (const int held : {row_mean, col_mean, grad_squared, update}) requests.release(held);
}

void adafactor_foreach(const program::Program& program, UpdateRequests& requests) {
  const std::vector<ParametersOfDType> groups = updated_by_dtype(program);
  if (groups.size() > 1) requests.guess();
  std::vector<int> updates;
  for (const ParametersOfDType& all : groups) {
    // The kind that appears first comes first.
    std::vector<const Parameter*> first;
    std::vector<const Parameter*> second;
    for (const Parameter* parameter : all.parameters) {
      const bool as_first = is_matrix(*parameter) == is_matrix(*all.parameters.front());
      (as_first ? first : second).push_back(parameter);
    }
    for (auto* group : {&first, &second}) {
      if (!group->empty()) updates = Group(*group, requests).update(updates);
    }
  }
  requests.release_list(updates);
}

}  // namespace elixir::memory
