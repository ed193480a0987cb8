// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Looks for the pattern around each aten::nll_loss_forward. In the captured program:
//
//   wide = _to_copy(logits)                 only where the logits are 16 bits wide
//   p = _log_softmax(wide)
//   loss, weight = nll_loss_forward(p, target)
//   …
//   g = nll_loss_backward(…, p, target, weight)
//   d = _log_softmax_backward_data(g, p)
//   gradient = _to_copy(d)                  only where the logits are 16 bits wide
#include "edit/fused_loss.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "edit/loss_rewriter.h"
#include "program/arguments/arguments.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Arguments;
using program::DType;
using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Origin;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

constexpr std::int64_t kMean = 1, kSum = 2;  // at::Reduction

bool is_dense(const TensorRef& tensor) {
  std::int64_t stride = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != stride) return false;
    stride *= tensor.sizes[d];
  }
  return true;
}

const TensorRef* result_of(const Operator& op) {
  return op.outputs.empty() ? nullptr : std::get_if<TensorRef>(&op.outputs[0]);
}

bool is_half(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

/// Finds the operators of one loss. Its parts return why the loss does not fit the pattern; empty
/// when it does.
class LossMatcher {
 public:
  LossMatcher(const Program& program, const Lifetimes& lifetimes)
      : program_(program), lifetimes_(lifetimes), users_(program.storages.size()) {
    for (const Operator& op : program.operators) {
      if (!lifetimes.executed[op.id]) continue;
      const auto add = [&](const TensorRef& tensor) {
        auto& users = users_[tensor.storage];
        if (users.empty() || users.back() != op.id) users.push_back(op.id);
      };
      program::for_each_tensor(op.arguments, add);
      program::for_each_tensor(op.outputs, add);
    }
    for (const program::Parameter& parameter : program.parameters) {
      if (parameter.gradient) gradients_.push_back(parameter.gradient->storage);
    }
  }

  [[nodiscard]] std::string match(const Operator& loss, LossOperators& found) const {
    found.loss = loss.id;
    std::string obstacle = arguments_obstacle(loss);
    if (obstacle.empty()) obstacle = match_forward(loss, found);
    if (obstacle.empty()) obstacle = match_backward(loss, found);
    if (obstacle.empty()) obstacle = logits_obstacle(found);
    return obstacle;
  }

 private:
  [[nodiscard]] const Operator& at(OperatorId id) const { return program_.operators[id]; }
  [[nodiscard]] static std::string because(const Operator& op, std::string_view what) {
    return fmt::format("operator {} ({}) {}", op.id, op.name, what);
  }
  /// The first operator of this name that uses `storage` after `after`; nullptr: none.
  [[nodiscard]] const Operator* user(StorageId storage,
                                     std::string_view name,
                                     OperatorId after) const {
    const auto& users = users_[storage];
    const auto found = std::find_if(users.begin(), users.end(), [&](OperatorId id) {
      return id > after && at(id).name == name;
    });
    return found == users.end() ? nullptr : &at(*found);
  }
  [[nodiscard]] std::string other_user(StorageId storage,
                                       const std::vector<OperatorId>& known,
                                       std::string_view what) const {
    for (const OperatorId id : users_[storage]) {
      if (std::find(known.begin(), known.end(), id) != known.end()) continue;
      return because(at(id), fmt::format("uses {} too", what));
    }
    return {};
  }
  [[nodiscard]] const Operator* producer(const TensorRef& tensor) const {
    const program::StorageUse& use = lifetimes_.storages[tensor.storage];
    return use.origin == Origin::kProduced && use.producer >= 0 ? &at(use.producer) : nullptr;
  }

  [[nodiscard]] static std::string arguments_obstacle(const Operator& loss) {
    const Arguments call(loss);
    const TensorRef* rows = call.tensor("self");
    const TensorRef* target = call.tensor("target");
    const TensorRef* weight = call.tensor("weight");
    const std::int64_t reduction = call.integer("reduction").value_or(-1);
    if (loss.phase != Phase::kForward) return because(loss, "is no operator of forward");
    if (reduction != kMean && reduction != kSum) return because(loss, "does not reduce its losses");
    if (rows == nullptr || rows->sizes.size() != 2 || !is_dense(*rows)) {
      return because(loss, "has no dense rows of classes");
    }
    if (target == nullptr || target->dtype != DType::kInt64 || target->sizes.size() != 1 ||
        !is_dense(*target)) {
      return because(loss, "has no dense list of int64 classes as its target");
    }
    if (weight != nullptr && (weight->dtype != DType::kFloat32 || !is_dense(*weight))) {
      return because(loss, "has class weights that are not dense fp32");
    }
    return {};
  }

  [[nodiscard]] std::string match_forward(const Operator& loss, LossOperators& found) const {
    const TensorRef& p = *Arguments(loss).tensor("self");
    const Operator* softmax = producer(p);
    if (softmax == nullptr || softmax->name != "aten::_log_softmax") {
      return because(loss, "is not given the result of a log-softmax");
    }
    const TensorRef* input = Arguments(*softmax).tensor("self");
    const std::int64_t dimension = Arguments(*softmax).integer("dim").value_or(0);
    if (input == nullptr || input->sizes != p.sizes || !is_dense(*input) ||
        (dimension != 1 && dimension != -1)) {
      return because(*softmax, "is not over dense rows of classes");
    }
    found.log_softmax = softmax->id;
    found.logits = *input;
    std::string obstacle = match_conversion(*softmax, found);
    if (!obstacle.empty()) return obstacle;
    if (!is_half(found.logits.dtype) && found.logits.dtype != DType::kFloat32) {
      return because(*softmax, "has logits other than float32, bfloat16 and float16");
    }
    return {};
  }

  /// Looks through the conversion of the logits to fp32, if there is one.
  [[nodiscard]] std::string match_conversion(const Operator& softmax, LossOperators& found) const {
    const Operator* conversion = producer(found.logits);
    if (conversion == nullptr || conversion->name != "aten::_to_copy") return {};
    const TensorRef* from = Arguments(*conversion).tensor("self");
    const TensorRef* to = result_of(*conversion);
    if (from == nullptr || to == nullptr || !is_half(from->dtype) || to->dtype != DType::kFloat32) {
      return {};
    }
    if (!is_dense(*from) || !is_dense(*to) || from->numel() != found.logits.numel() ||
        to->offset != found.logits.offset) {
      return because(*conversion, "does not convert the logits alone");
    }
    found.conversion = conversion->id;
    found.logits.storage = from->storage;
    found.logits.version = from->version;
    found.logits.offset = from->offset;
    found.logits.dtype = from->dtype;
    return other_user(to->storage, {conversion->id, softmax.id}, "the logits in fp32");
  }

  [[nodiscard]] std::string match_backward(const Operator& loss, LossOperators& found) const {
    const TensorRef& p = *Arguments(loss).tensor("self");
    const Operator* first = user(p.storage, "aten::nll_loss_backward", loss.id);
    const Operator* second = user(p.storage, "aten::_log_softmax_backward_data", loss.id);
    if (first == nullptr || second == nullptr) return because(loss, "has no backward");
    found.loss_backward = first->id;
    found.log_softmax_backward = second->id;
    const TensorRef* between = result_of(*first);
    const TensorRef* gradient = result_of(*second);
    if (between == nullptr || !is_dense(*between)) return because(*first, "has no dense result");
    if (gradient == nullptr || !is_dense(*gradient)) return because(*second, "has no dense result");
    const TensorRef* given = Arguments(*second).tensor("grad_output");
    if (given == nullptr || given->storage != between->storage) {
      return because(*second, "is not given the gradient of the log-softmax");
    }
    const auto* total = std::get_if<TensorRef>(&loss.outputs.at(1));
    if (total == nullptr) return because(loss, "has no sum of weights");
    const OperatorId softmax = found.log_softmax;
    std::string obstacle =
        other_user(p.storage, {softmax, loss.id, first->id, second->id}, "the log-softmax");
    if (obstacle.empty()) {
      obstacle =
          other_user(between->storage, {first->id, second->id}, "the gradient of the log-softmax");
    }
    if (obstacle.empty()) {
      obstacle = other_user(total->storage, {loss.id, first->id}, "the sum of weights");
    }
    found.gradient = *gradient;
    if (obstacle.empty()) obstacle = match_conversion_back(*second, found);
    return obstacle;
  }

  [[nodiscard]] std::string match_conversion_back(const Operator& softmax_backward,
                                                  LossOperators& found) const {
    if (found.conversion >= 0) {
      const StorageId wide = found.gradient.storage;
      const Operator* back = user(wide, "aten::_to_copy", softmax_backward.id);
      const TensorRef* to = back == nullptr ? nullptr : result_of(*back);
      if (to == nullptr || !is_dense(*to)) {
        return because(softmax_backward, "has a gradient that is not converted back");
      }
      std::string obstacle =
          other_user(wide, {softmax_backward.id, back->id}, "the gradient in fp32");
      if (!obstacle.empty()) return obstacle;
      found.conversion_back = back->id;
      found.gradient = *to;
    }
    if (found.gradient.dtype != found.logits.dtype ||
        found.gradient.numel() != found.logits.numel()) {
      return because(softmax_backward, "has a gradient of another dtype or size than the logits");
    }
    const bool of_parameter =
        std::find(gradients_.begin(), gradients_.end(), found.gradient.storage) != gradients_.end();
    return of_parameter ? because(softmax_backward, "makes the gradient of a parameter")
                        : std::string();
  }

  /// Backward overwrites the logits, so they must be a result, and nothing may read them later.
  [[nodiscard]] std::string logits_obstacle(const LossOperators& found) const {
    const Operator* made_by = producer(found.logits);
    if (made_by == nullptr || made_by->phase != Phase::kForward) {
      return because(at(found.log_softmax), "has logits that no operator of forward makes");
    }
    for (const OperatorId id : users_[found.logits.storage]) {
      if (id > found.log_softmax) return because(at(id), "uses the logits after the loss");
    }
    return {};
  }

  const Program& program_;
  const Lifetimes& lifetimes_;
  std::vector<std::vector<OperatorId>> users_;  ///< by storage: executed operators, in order
  std::vector<StorageId> gradients_;            ///< of parameters
};

}  // namespace

FusedLoss fuse_loss(const Program& program) {
  FusedLoss result;
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  const LossMatcher matcher(program, lifetimes);
  std::vector<LossOperators> losses;
  for (const Operator& op : program.operators) {
    if (op.name != "aten::nll_loss_forward" || !lifetimes.executed[op.id]) continue;
    LossOperators found;
    std::string obstacle = matcher.match(op, found);
    if (obstacle.empty()) {
      losses.push_back(found);
    } else {
      result.kept.push_back(std::move(obstacle));
    }
  }
  if (losses.empty() && result.kept.empty()) {
    result.kept.emplace_back("the program has no aten::nll_loss_forward");
  }
  result.fused = static_cast<int>(losses.size());
  result.program = losses.empty() ? program : rewrite_losses(program, lifetimes, losses);
  return result;
}

}  // namespace elixir::edit
