// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/untrained_scalars.h"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace elixir::capture {
namespace {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

void collect(const c10::IValue& value, const std::string& name, std::vector<NamedTensor>& found) {
  if (value.isTensor()) {
    found.push_back({name, value.toTensor()});
  } else if (value.isTuple() || value.isList()) {
    const auto elements =
        value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::string its = name.empty() ? "number " : name + ".";
      collect(elements[i], fmt::format("{}{}", its, i + 1), found);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const std::string key = entry.key().isString() ? entry.key().toStringRef() : "?";
      collect(entry.value(), fmt::format("`{}`", key), found);
    }
  }
}

/// Every function of autograd that the tensor comes from.
std::set<const torch::autograd::Node*> history_of(const at::Tensor& tensor) {
  std::set<const torch::autograd::Node*> seen;
  std::vector<const torch::autograd::Node*> open{tensor.grad_fn().get()};
  while (!open.empty()) {
    const torch::autograd::Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const torch::autograd::Edge& edge : node->next_edges()) {
      open.push_back(edge.function.get());
    }
  }
  return seen;
}

}  // namespace

std::vector<std::string> untrained_scalars(const c10::IValue& returned, const at::Tensor& loss) {
  std::vector<NamedTensor> found;
  collect(returned, "", found);
  std::vector<std::string> names;
  if (found.size() < 2) return names;
  const auto trained = history_of(loss);
  for (const NamedTensor& each : found) {
    const at::Tensor& tensor = each.tensor;
    if (!tensor.defined() || tensor.numel() != 1 || tensor.grad_fn() == nullptr) continue;
    if (trained.count(tensor.grad_fn().get()) == 0) names.push_back(each.name);
  }
  return names;
}

}  // namespace elixir::capture
