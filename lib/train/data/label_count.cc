// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/label_count.h"

#include <set>
#include <utility>

#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>

#include "capture/record/arguments/scalar_type.h"
#include "program/arguments/arguments.h"

namespace elixir::train {

LabelCount::LabelCount(program::Program labels, const program::Operator& loss)
    : labels_(std::move(labels)), known_(labels_.storages.size()) {
  const program::Arguments call(loss);
  target_ = *call.tensor("target");
  if (const program::TensorRef* weights = call.tensor("weight")) weights_ = *weights;
  ignored_ = call.integer("ignore_index").value_or(ignored_);
  for (const program::Operator& op : labels_.operators) calls_.emplace_back(labels_, op.id);
}

std::optional<LabelCount> LabelCount::of(
    const capture::Captured& captured,
    const std::function<at::Tensor(const std::string&)>& buffer) {
  const program::Program& program = captured.program;
  const auto mean = edit::find_token_mean(program);
  if (!mean) return std::nullopt;
  LabelCount count(edit::labels_program(program, *mean),
                   program.operators[static_cast<std::size_t>(mean->loss)]);
  std::set<program::StorageId> needed{count.target_.storage};
  if (count.weights_) needed.insert(count.weights_->storage);
  for (const program::Operator& op : count.labels_.operators) {
    program::for_each_tensor(
        op.arguments, [&](const program::TensorRef& tensor) { needed.insert(tensor.storage); });
  }
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (needed.count(program.inputs[i].tensor.storage) != 0) count.inputs_.push_back(i);
  }
  for (const auto& [id, tensor] : captured.constants) {
    if (needed.count(id) == 0) continue;
    count.known_[static_cast<std::size_t>(id)] = tensor.cpu().storage();
  }
  for (const program::Buffer& each : program.buffers) {
    if (needed.count(each.tensor.storage) == 0) continue;
    count.known_[static_cast<std::size_t>(each.tensor.storage)] =
        buffer(each.name).contiguous().storage();
  }
  return count;
}

double LabelCount::count(const std::vector<at::Tensor>& inputs) {
  const c10::NoGradGuard no_gradients;
  storages_ = known_;
  for (const std::size_t i : inputs_) {
    const program::TensorRef& wanted = labels_.inputs[i].tensor;
    const at::Tensor copy =
        at::empty_strided(wanted.sizes,
                          wanted.strides,
                          at::TensorOptions().dtype(capture::scalar_type(wanted.dtype)));
    copy.copy_(inputs.at(i));
    storages_[static_cast<std::size_t>(wanted.storage)] = copy.storage();
  }
  {
    const replay::ReplayScope scope;
    for (replay::ReplayCall& call : calls_) call.run(storages_);
  }
  const double labels = count_labels();
  storages_.clear();
  return labels;
}

double LabelCount::count_labels() const {
  const auto shell = [&](const program::TensorRef& tensor) {
    return replay::make_shell(storages_[static_cast<std::size_t>(tensor.storage)], tensor);
  };
  const at::Tensor target = shell(target_).flatten();
  const at::Tensor counts = target.ne(ignored_);
  if (!weights_) return counts.sum().item<double>();
  const at::Tensor weights = shell(*weights_).to(at::kDouble);
  const at::Tensor classes = target.masked_select(counts).clamp(0, weights.numel() - 1);
  return weights.index_select(0, classes).sum().item<double>();
}

}  // namespace elixir::train
