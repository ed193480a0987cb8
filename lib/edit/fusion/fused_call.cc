// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/fusion/fused_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "edit/fusion/fusible.h"
#include "operators/fused_program.h"
#include "operators/own.h"

namespace elixir::edit {
namespace {

using program::DType;
using program::Ints;
using program::Operator;
using program::OperatorId;
using program::Program;
using program::StorageId;
using program::TensorRef;
using Kind = operators::FusedStep::Kind;

class CallWriter {
 public:
  explicit CallWriter(const Ints& shape) : shape_(shape) {}

  /// Whether the member fits.
  bool add(const Operator& op) {
    const std::vector<std::int32_t> steps =
        write_steps(op, steps_, [this](const TensorRef& tensor) { return load(tensor); });
    if (steps.empty()) return false;
    if (op.writes) {
      const auto& before = std::get<TensorRef>(op.arguments.at(0));
      // The first to write it says where; load() has seen to it that all others mean the same.
      if (values_.count(before.storage) == 0) updated_.push_back(before);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] < 0) continue;
      const auto& result = std::get<TensorRef>(op.outputs[i]);
      const auto strides = strides_over(result, shape_);
      if (!strides) return false;
      values_[result.storage] = {result, *strides, steps[i]};
    }
    return true;
  }

  std::optional<FusedCall> finish(const NeededOutside& needed_outside) {
    for (const TensorRef& before : updated_) {
      if (!only_read_in_place(before)) return std::nullopt;
    }
    FusedCall call;
    program::Tensors results;
    Ints stored, dtypes, strides;
    for (const auto& [storage, value] : values_) {
      if (is_updated(storage)) continue;
      if (!needed_outside(storage)) {
        call.gone.push_back(storage);
        continue;
      }
      results.emplace_back(value.tensor);
      stored.push_back(value.step);
      dtypes.push_back(operators::scalar_type_number(value.tensor.dtype));
      strides.insert(strides.end(), value.strides.begin(), value.strides.end());
    }
    for (const TensorRef& before : updated_) {
      const Value& value = values_.at(before.storage);
      results.emplace_back(value.tensor);
      stored.push_back(value.step);
    }
    const operators::FusedProgram steps = in_canonical_order(stored);
    program::Tensors inputs(inputs_.begin(), inputs_.end());
    program::Tensors updated(updated_.begin(), updated_.end());
    if (inputs.empty() || results.empty() || steps.size() > operators::kMostFusedSteps ||
        inputs.size() + results.size() > operators::kMostFusedTensors) {
      return std::nullopt;
    }
    // A sum over a row of one value, as in the gradient of a mean, has no loop of its own.
    std::vector<bool> per_row;
    for (const TensorRef& input : inputs_)
      per_row.push_back(strides_over(input, shape_)->back() == 0);
    if (!operators::passes_of(steps, per_row, stored)) return std::nullopt;
    call.op.name = operators::kFused;
    call.op.writes = !updated.empty();
    call.op.arguments = {std::move(inputs),
                         std::move(updated),
                         shape_,
                         operators::text_of(steps),
                         std::move(stored),
                         std::move(dtypes),
                         std::move(strides)};
    call.op.outputs = {std::move(results)};
    return call;
  }

 private:
  struct Value {
    TensorRef tensor;
    Ints strides;  ///< over the shape
    std::int32_t step = -1;
  };

  std::int32_t load(const TensorRef& tensor) {
    const auto strides = strides_over(tensor, shape_);
    if (!strides) return -1;
    const auto made = values_.find(tensor.storage);
    if (made != values_.end()) {
      const Value& value = made->second;
      const bool same = tensor.version == value.tensor.version &&
                        tensor.dtype == value.tensor.dtype &&
                        tensor.offset == value.tensor.offset && *strides == value.strides;
      return same ? value.step : -1;
    }
    const auto found = std::find(inputs_.begin(), inputs_.end(), tensor);
    const auto number = static_cast<std::int32_t>(found - inputs_.begin());
    if (found == inputs_.end()) inputs_.push_back(tensor);
    return steps_.add(Kind::kInput, number);
  }

  [[nodiscard]] bool is_updated(StorageId storage) const {
    return std::any_of(updated_.begin(), updated_.end(), [storage](const TensorRef& before) {
      return before.storage == storage;
    });
  }

  /// Whoever writes an element must be the one who reads it.
  [[nodiscard]] bool only_read_in_place(const TensorRef& before) const {
    return std::all_of(inputs_.begin(), inputs_.end(), [&](const TensorRef& input) {
      return input.storage != before.storage ||
             (input.offset == before.offset && input.dtype == before.dtype &&
              strides_over(input, shape_) == strides_over(before, shape_));
    });
  }

  /// The steps that `stored` need, and their inputs, in the order in which these steps ask for
  /// them: in whatever order a compiler evaluates the arguments of our calls, the text is the same.
  operators::FusedProgram in_canonical_order(Ints& stored) {
    const operators::FusedProgram& all = steps_.program();
    std::vector<std::int32_t> renamed(all.size(), -1);
    std::vector<TensorRef> inputs;
    operators::FusedProgram steps;
    const std::function<std::int32_t(std::int32_t)> visit = [&](std::int32_t old) {
      if (renamed[old] >= 0) return renamed[old];
      operators::FusedStep step = all[old];
      if (step.kind == Kind::kInput) {
        inputs.push_back(inputs_[step.operands[0]]);
        step.operands[0] = static_cast<std::int32_t>(inputs.size() - 1);
      }
      for (int k = 0; k < operators::operand_count(step.kind); ++k) {
        step.operands[k] = visit(step.operands[k]);
      }
      steps.push_back(step);
      return renamed[old] = static_cast<std::int32_t>(steps.size() - 1);
    };
    for (std::int64_t& step : stored) step = visit(static_cast<std::int32_t>(step));
    inputs_ = std::move(inputs);
    return steps;
  }

  const Ints& shape_;
  FusedSteps steps_;
  std::map<StorageId, Value> values_;  ///< what members have made or written so far
  std::vector<TensorRef> inputs_, updated_;
};

}  // namespace

std::optional<FusedCall> fused_call(const Program& program,
                                    const std::vector<OperatorId>& members,
                                    const Ints& shape,
                                    const NeededOutside& needed_outside) {
  CallWriter writer(shape);
  for (const OperatorId id : members) {
    if (!writer.add(program.operators[id])) return std::nullopt;
  }
  auto call = writer.finish(needed_outside);
  if (!call) return std::nullopt;
  const Operator& last = program.operators[members.back()];
  call->op.phase = last.phase;
  call->op.module = last.module;
  return call;
}

}  // namespace elixir::edit
