// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/loss/token_mean.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "edit/dataflow.h"
#include "program/arguments/arguments.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Arguments;
using program::Operator;
using program::OperatorId;
using program::Origin;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

/// Calls that move, compare and replace labels: they take no time on the host, and draw nothing.
bool is_of_labels(const Operator& op) {
  constexpr std::string_view kNamespace = "aten::";
  static const std::set<std::string_view> kNames{"_to_copy",
                                                 "_unsafe_view",
                                                 "add",
                                                 "arange",
                                                 "argmax",
                                                 "bitwise_and",
                                                 "bitwise_not",
                                                 "bitwise_or",
                                                 "cat",
                                                 "clamp",
                                                 "clamp_max",
                                                 "clamp_min",
                                                 "clone",
                                                 "constant_pad_nd",
                                                 "copy_",
                                                 "empty",
                                                 "empty_like",
                                                 "eq",
                                                 "fill",
                                                 "fill_",
                                                 "flip",
                                                 "full",
                                                 "full_like",
                                                 "gather",
                                                 "ge",
                                                 "gt",
                                                 "index_select",
                                                 "le",
                                                 "logical_and",
                                                 "logical_not",
                                                 "logical_or",
                                                 "lt",
                                                 "masked_fill",
                                                 "masked_fill_",
                                                 "maximum",
                                                 "minimum",
                                                 "mul",
                                                 "ne",
                                                 "neg",
                                                 "new_empty",
                                                 "new_full",
                                                 "new_ones",
                                                 "new_zeros",
                                                 "ones",
                                                 "ones_like",
                                                 "remainder",
                                                 "roll",
                                                 "rsub",
                                                 "scalar_tensor",
                                                 "stack",
                                                 "sub",
                                                 "where",
                                                 "zero_",
                                                 "zeros",
                                                 "zeros_like",
                                                 "new_empty_strided",
                                                 "empty_strided",
                                                 "lift_fresh",
                                                 "lift_fresh_copy"};
  const std::string_view name = op.name;
  return op.phase == Phase::kForward && name.rfind(kNamespace, 0) == 0 &&
         kNames.count(name.substr(kNamespace.size())) != 0;
}

/// The call whose first result is the program's loss, through casts; views share its storage.
const Operator* maker_of_loss(const Program& program, const Dataflow& flow) {
  TensorRef made = program.loss;
  for (;;) {
    const Operator* op = made.version == 0 && made.numel() == 1 ? flow.producer(made) : nullptr;
    if (op == nullptr || result_of(*op) == nullptr || result_of(*op)->storage != made.storage) {
      return nullptr;
    }
    if (op->name != "aten::_to_copy") return op;
    const TensorRef* from = Arguments(*op).tensor("self");
    if (from == nullptr) return nullptr;
    made = *from;
  }
}

bool is_mean_of_labels(const Operator& op) {
  constexpr std::int64_t kMean = 1;  // at::Reduction
  const bool known = op.name == "aten::nll_loss_forward" || op.name == "aten::nll_loss2d_forward";
  return known && op.phase == Phase::kForward && Arguments(op).integer("reduction") == kMean;
}

/// Whether a buffer is a whole storage, so that its values are those of the storage.
bool is_whole(const Program& program, const TensorRef& tensor) {
  return is_dense(tensor) && tensor.offset == 0 &&
         tensor.bytes() == program.storages[static_cast<std::size_t>(tensor.storage)].bytes;
}

/// Whether the host knows the values of a storage before the step.
bool is_known(const Program& program, const program::StorageUse& use, StorageId storage) {
  if (use.origin == Origin::kConstant) return true;
  if (use.origin == Origin::kInput) {
    return std::any_of(program.inputs.begin(), program.inputs.end(), [&](const auto& input) {
      return input.tensor.storage == storage && input.tensor.offset == 0;
    });
  }
  return use.origin == Origin::kBuffer &&
         std::any_of(program.buffers.begin(), program.buffers.end(), [&](const auto& buffer) {
           return buffer.tensor.storage == storage && !buffer.mutated &&
                  is_whole(program, buffer.tensor);
         });
}

}  // namespace

std::optional<TokenMean> find_token_mean(const Program& program) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const Dataflow flow(program, lifetimes);
  const Operator* loss = maker_of_loss(program, flow);
  if (loss == nullptr || !is_mean_of_labels(*loss)) return std::nullopt;
  TokenMean mean{.loss = loss->id, .makes_labels = {}};
  std::set<StorageId> needed;
  for (const char* argument : {"target", "weight"}) {
    if (const TensorRef* tensor = Arguments(*loss).tensor(argument)) needed.insert(tensor->storage);
  }
  for (OperatorId id = loss->id; id-- > 0;) {
    const Operator& op = flow.at(id);
    if (!lifetimes.executed[static_cast<std::size_t>(id)]) continue;
    bool makes = false;
    program::for_each_tensor(
        op.outputs, [&](const TensorRef& tensor) { makes |= needed.count(tensor.storage) != 0; });
    if (!makes) continue;
    if (!is_of_labels(op)) return std::nullopt;
    program::for_each_tensor(op.arguments,
                             [&](const TensorRef& tensor) { needed.insert(tensor.storage); });
    mean.makes_labels.push_back(id);
  }
  std::reverse(mean.makes_labels.begin(), mean.makes_labels.end());
  for (const StorageId storage : needed) {
    const program::StorageUse& use = lifetimes.storages[static_cast<std::size_t>(storage)];
    if (use.origin != Origin::kProduced && !is_known(program, use, storage)) return std::nullopt;
  }
  return mean;
}

Program labels_program(const Program& program, const TokenMean& mean) {
  Program labels = program;
  labels.target = {.kind = program::DeviceKind::kCpu, .isa = program::CpuIsa::kUnsaid};
  labels.operators.clear();
  for (program::Parameter& parameter : labels.parameters) parameter.gradient.reset();
  for (const OperatorId id : mean.makes_labels) {
    Operator op = program.operators[static_cast<std::size_t>(id)];
    op.id = static_cast<OperatorId>(labels.operators.size());
    for (program::Argument& argument : op.arguments) {
      if (auto* device = std::get_if<program::DeviceName>(&argument)) device->name = "cpu";
    }
    labels.operators.push_back(std::move(op));
  }
  return labels;
}

}  // namespace elixir::edit
