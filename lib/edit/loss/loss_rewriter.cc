// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/loss/loss_rewriter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "operators/own.h"
#include "program/references.h"

namespace elixir::edit {
namespace {

using program::Argument;
using program::DType;
using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Program;
using program::Storage;
using program::StorageId;
using program::TensorRef;

/// Removes storages that nothing refers to, and numbers the others anew.
void drop_unused_storages(Program& program) {
  std::vector<StorageId> renamed(program.storages.size(), -1);
  program::for_each_reference(program,
                              [&](const TensorRef& tensor) { renamed[tensor.storage] = 0; });
  std::vector<Storage> kept;
  for (Storage& storage : program.storages) {
    StorageId& name = renamed[storage.id];
    if (name < 0) continue;
    storage.id = name = static_cast<StorageId>(kept.size());
    kept.push_back(std::move(storage));
  }
  program.storages = std::move(kept);
  program::for_each_reference(program,
                              [&](TensorRef& tensor) { tensor.storage = renamed[tensor.storage]; });
}

class LossRewriter {
 public:
  LossRewriter(const Program& program,
               const Lifetimes& lifetimes,
               const std::vector<LossOperators>& losses)
      : program_(program),
        lifetimes_(lifetimes),
        losses_(losses),
        removed_(program.storages.size(), false),
        result_(program) {
    result_.operators.clear();
    for (const LossOperators& loss : losses) {
      std::vector<OperatorId> gone = loss.smoothing;
      gone.insert(gone.end(), {loss.log_softmax, loss.loss_backward, loss.log_softmax_backward});
      for (const OperatorId id : {loss.conversion, loss.conversion_back}) {
        if (id >= 0) gone.push_back(id);
      }
      for (const OperatorId id : gone) {
        const auto& result = std::get<TensorRef>(program.operators[id].outputs.at(0));
        if (result.storage != loss.gradient.storage && result.storage != loss.value.storage) {
          removed_[result.storage] = true;
        }
      }
    }
  }

  Program run() {
    std::vector<OperatorId> new_id(program_.operators.size(), -1);
    for (const Operator& op : program_.operators) {
      std::vector<Operator> replacement = replace(op);
      for (Operator& each : replacement) {
        new_id[op.id] = each.id = static_cast<OperatorId>(result_.operators.size());
        if (each.repeats >= 0) each.repeats = new_id[each.repeats];
        result_.operators.push_back(std::move(each));
      }
    }
    program::for_each_reference(result_, [&](TensorRef& tensor) { move_into_logits(tensor); });
    drop_unused_storages(result_);
    return program::with_replay_lifetimes(std::move(result_));
  }

 private:
  /// What stands in the place of an operator.
  std::vector<Operator> replace(const Operator& op) {
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      const LossOperators& loss = losses_[i];
      if (op.id == loss.loss) return forward(op, loss);
      if (op.id == loss.log_softmax_backward) return {backward(op, loss)};
      if (op.id == loss.conversion || op.id == loss.log_softmax || op.id == loss.loss_backward ||
          op.id == loss.conversion_back ||
          std::find(loss.smoothing.begin(), loss.smoothing.end(), op.id) != loss.smoothing.end()) {
        return {};
      }
    }
    // Calls that only make views of storages that are gone.
    bool of_removed = false;
    const auto look = [&](const TensorRef& tensor) {
      of_removed = of_removed || removed_[tensor.storage];
    };
    program::for_each_tensor(op.arguments, look);
    if (of_removed && !lifetimes_.executed[op.id]) return {};
    return {op};
  }

  /// The loss, and before it the conversion of class weights that are not fp32.
  std::vector<Operator> forward(const Operator& op, const LossOperators& loss) {
    std::vector<Operator> result;
    Argument weight = op.arguments.at(2);
    const auto* given = std::get_if<TensorRef>(&weight);
    if (given != nullptr && given->dtype != DType::kFloat32) {
      Operator convert;
      convert.name = "aten::_to_copy";
      convert.phase = op.phase;
      convert.module = op.module;
      // self, dtype, layout, device, pin_memory, non_blocking, memory_format
      convert.arguments = {*given,
                           operators::scalar_type_number(DType::kFloat32),
                           program::None{},
                           program::None{},
                           program::None{},
                           false,
                           program::None{}};
      weight = add_tensor(given->sizes);
      convert.outputs = {weight};
      result.push_back(std::move(convert));
    }
    const std::int64_t rows = loss.logits.sizes.at(0);
    Operator fused;
    fused.name = operators::kFusedLoss;
    fused.phase = op.phase;
    fused.module = op.module;
    // logits, target, weight, reduction, ignore_index, label_smoothing, dtype
    fused.arguments = {loss.logits,
                       op.arguments.at(1),
                       weight,
                       op.arguments.at(3),
                       op.arguments.at(4),
                       loss.label_smoothing,
                       operators::scalar_type_number(loss.value.dtype)};
    fused.outputs = {
        loss.value, add_tensor({}), add_tensor({operators::kFusedLossStatistics, rows})};
    made_.push_back({loss.loss, weight, fused.outputs[1], fused.outputs[2]});
    result.push_back(std::move(fused));
    return result;
  }

  Operator backward(const Operator& op, const LossOperators& loss) {
    const Operator& captured = program_.operators[loss.loss_backward];
    const auto made = std::find_if(
        made_.begin(), made_.end(), [&](const Made& each) { return each.loss == loss.loss; });
    TensorRef written = loss.logits;
    ++written.version;
    Operator fused;
    fused.name = operators::kFusedLossBackward;
    fused.phase = op.phase;
    fused.module = op.module;
    fused.writes = true;
    // logits, gradient, target, weight, reduction, ignore_index, label_smoothing, total_weight,
    // statistics
    fused.arguments = {loss.logits,
                       loss.value_gradient,
                       captured.arguments.at(2),
                       made->weight,
                       captured.arguments.at(4),
                       captured.arguments.at(5),
                       loss.label_smoothing,
                       made->total_weight,
                       made->statistics};
    fused.outputs = {written};
    return fused;
  }

  /// A new dense fp32 tensor.
  TensorRef add_tensor(std::vector<std::int64_t> sizes) {
    TensorRef tensor;
    tensor.sizes = std::move(sizes);
    tensor.strides.assign(tensor.sizes.size(), 1);
    for (std::size_t d = tensor.sizes.size(); d > 1; --d) {
      tensor.strides[d - 2] = tensor.strides[d - 1] * tensor.sizes[d - 1];
    }
    Storage storage;
    storage.id = tensor.storage = static_cast<StorageId>(result_.storages.size());
    storage.bytes = tensor.bytes();
    storage.category = program::Category::kActivation;
    result_.storages.push_back(storage);
    return tensor;
  }

  /// The gradient is where the logits were.
  void move_into_logits(TensorRef& tensor) const {
    for (const LossOperators& loss : losses_) {
      if (tensor.storage != loss.gradient.storage) continue;
      tensor.storage = loss.logits.storage;
      tensor.version += loss.logits.version + 1;
      tensor.offset += loss.logits.offset - loss.gradient.offset;
      return;
    }
  }

  struct Made {
    OperatorId loss = -1;
    Argument weight, total_weight, statistics;
  };

  const Program& program_;
  const Lifetimes& lifetimes_;
  const std::vector<LossOperators>& losses_;
  std::vector<bool> removed_;  ///< by storage
  std::vector<Made> made_;
  Program result_;
};

}  // namespace

Program rewrite_losses(const Program& program,
                       const Lifetimes& lifetimes,
                       const std::vector<LossOperators>& losses) {
  return LossRewriter(program, lifetimes, losses).run();
}

}  // namespace elixir::edit
