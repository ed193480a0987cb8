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
//
// label_smoothing.cc has what label smoothing adds.
#include "edit/loss/fused_loss.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "edit/dataflow.h"
#include "edit/loss/label_smoothing.h"
#include "edit/loss/loss_rewriter.h"
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

constexpr std::int64_t kMostReduction = 2;  // at::Reduction: none, mean, sum

bool is_half(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

bool is_fused_dtype(DType dtype) {
  return is_half(dtype) || dtype == DType::kFloat32;
}

/// Finds the operators of one loss. Its parts return why the loss does not fit the pattern; empty
/// when it does.
class LossMatcher {
 public:
  LossMatcher(const Program& program, const Lifetimes& lifetimes) : flow_(program, lifetimes) {
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
  [[nodiscard]] static std::string arguments_obstacle(const Operator& loss) {
    const Arguments call(loss);
    const TensorRef* rows = call.tensor("self");
    const TensorRef* target = call.tensor("target");
    const TensorRef* weight = call.tensor("weight");
    const std::int64_t reduction = call.integer("reduction").value_or(-1);
    if (loss.phase != Phase::kForward) return because(loss, "is no operator of forward");
    if (reduction < 0 || reduction > kMostReduction) {
      return because(loss, "has no known reduction");
    }
    if (rows == nullptr || rows->sizes.size() != 2 || !is_dense(*rows)) {
      return because(loss, "has no dense rows of classes");
    }
    if (target == nullptr || target->dtype != DType::kInt64 || target->sizes.size() != 1 ||
        !is_dense(*target)) {
      return because(loss, "has no dense list of int64 classes as its target");
    }
    if (weight != nullptr && (!is_fused_dtype(weight->dtype) || !is_dense(*weight))) {
      return because(loss, "has class weights other than dense float32, bfloat16 and float16");
    }
    return {};
  }

  [[nodiscard]] std::string match_forward(const Operator& loss, LossOperators& found) const {
    const TensorRef& p = *Arguments(loss).tensor("self");
    const Operator* softmax = flow_.producer(p);
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
    if (!is_fused_dtype(found.logits.dtype)) {
      return because(*softmax, "has logits other than float32, bfloat16 and float16");
    }
    return {};
  }

  /// Looks through the conversion of the logits to fp32, if there is one.
  [[nodiscard]] std::string match_conversion(const Operator& softmax, LossOperators& found) const {
    const Operator* conversion = flow_.producer(found.logits);
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
    return flow_.other_user(to->storage, {conversion->id, softmax.id}, "the logits in fp32");
  }

  [[nodiscard]] std::string match_backward(const Operator& loss, LossOperators& found) const {
    const TensorRef& p = *Arguments(loss).tensor("self");
    const Operator* first = flow_.user(p.storage, "aten::nll_loss_backward", loss.id);
    const Operator* second = flow_.user(p.storage, "aten::_log_softmax_backward_data", loss.id);
    if (first == nullptr || second == nullptr) return because(loss, "has no backward");
    found.loss_backward = first->id;
    found.log_softmax_backward = second->id;
    const TensorRef* between = result_of(*first);
    const TensorRef* gradient = result_of(*second);
    const TensorRef* of_loss = Arguments(*first).tensor("grad_output");
    if (between == nullptr || !is_dense(*between)) return because(*first, "has no dense result");
    if (of_loss == nullptr) return because(*first, "is given no gradient");
    if (gradient == nullptr || !is_dense(*gradient)) return because(*second, "has no dense result");
    found.value = *result_of(loss);
    found.value_gradient = *of_loss;
    std::string obstacle = match_smoothing(loss, *first, *between, found);
    if (!obstacle.empty()) return obstacle;
    const TensorRef* given = Arguments(*second).tensor("grad_output");
    if (given == nullptr || given->storage != found.gradient.storage) {
      return because(*second, "is not given the gradient of the log-softmax");
    }
    obstacle = result_obstacle(loss, found);
    found.gradient = *gradient;
    if (obstacle.empty()) obstacle = match_conversion_back(*second, found);
    return obstacle;
  }

  /// `found.gradient` becomes that of the log-softmax.
  [[nodiscard]] std::string match_smoothing(const Operator& loss,
                                            const Operator& loss_backward,
                                            const TensorRef& of_loss,
                                            LossOperators& found) const {
    found.gradient = of_loss;
    for (const OperatorId id : flow_.users(Arguments(loss).tensor("self")->storage)) {
      if (id == found.log_softmax || id == loss.id || id == loss_backward.id ||
          id == found.log_softmax_backward) {
        continue;
      }
      LabelSmoothing smoothing;
      std::string obstacle =
          match_label_smoothing(flow_, loss, loss_backward, flow_.at(id), smoothing);
      if (!obstacle.empty()) return obstacle;
      found.smoothing = smoothing.operators;
      found.label_smoothing = smoothing.amount;
      found.value = smoothing.loss;
      found.value_gradient = smoothing.loss_gradient;
      found.gradient = smoothing.log_softmax_gradient;
      return {};
    }
    return {};
  }

  /// Nothing else may use what the fused loss does not make.
  [[nodiscard]] std::string result_obstacle(const Operator& loss,
                                            const LossOperators& found) const {
    std::vector<OperatorId> known = found.smoothing;
    known.insert(known.end(),
                 {found.log_softmax, loss.id, found.loss_backward, found.log_softmax_backward});
    const auto storage_of = [&](OperatorId id) { return result_of(flow_.at(id))->storage; };
    const auto* total = std::get_if<TensorRef>(&loss.outputs.at(1));
    if (total == nullptr) return because(loss, "has no sum of weights");
    std::string obstacle =
        flow_.other_user(storage_of(found.log_softmax), known, "the log-softmax");
    if (obstacle.empty()) {
      obstacle = flow_.other_user(
          storage_of(found.loss_backward), known, "the gradient of the log-softmax");
    }
    if (obstacle.empty()) obstacle = flow_.other_user(total->storage, known, "the sum of weights");
    if (obstacle.empty() && !found.smoothing.empty()) {
      obstacle = flow_.other_user(storage_of(loss.id), known, "the loss before label smoothing");
    }
    for (const OperatorId id : found.smoothing) {
      if (!obstacle.empty()) break;
      if (storage_of(id) == found.value.storage) continue;
      obstacle = flow_.other_user(storage_of(id), known, "a part of label smoothing");
    }
    return obstacle;
  }

  [[nodiscard]] std::string match_conversion_back(const Operator& softmax_backward,
                                                  LossOperators& found) const {
    if (found.conversion >= 0) {
      const StorageId wide = found.gradient.storage;
      const Operator* back = flow_.user(wide, "aten::_to_copy", softmax_backward.id);
      const TensorRef* to = back == nullptr ? nullptr : result_of(*back);
      if (to == nullptr || !is_dense(*to)) {
        return because(softmax_backward, "has a gradient that is not converted back");
      }
      std::string obstacle =
          flow_.other_user(wide, {softmax_backward.id, back->id}, "the gradient in fp32");
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
    const Operator* made_by = flow_.producer(found.logits);
    if (made_by == nullptr || made_by->phase != Phase::kForward) {
      return because(flow_.at(found.log_softmax), "has logits that no operator of forward makes");
    }
    for (const OperatorId id : flow_.users(found.logits.storage)) {
      if (id > found.log_softmax) return because(flow_.at(id), "uses the logits after the loss");
    }
    return {};
  }

  Dataflow flow_;
  std::vector<StorageId> gradients_;  ///< of parameters
};

/// Why a program has no loss of rows of classes: what it has in its place.
std::string no_loss_obstacle(const Program& program, const Lifetimes& lifetimes) {
  const auto first = [&](std::string_view name) {
    return std::find_if(
        program.operators.begin(), program.operators.end(), [&](const Operator& op) {
          return op.name == name && op.phase == Phase::kForward && lifetimes.executed[op.id];
        });
  };
  const auto none = program.operators.end();
  if (const auto op = first("aten::nll_loss2d_forward"); op != none) {
    return because(*op, "has classes in another dimension than the last");
  }
  if (const auto op = first("aten::_log_softmax"); op != none) {
    return because(*op, "is not followed by aten::nll_loss_forward");
  }
  return "the program has no aten::nll_loss_forward";
}

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
    result.kept.push_back(no_loss_obstacle(program, lifetimes));
  }
  result.fused = static_cast<int>(losses.size());
  result.program = losses.empty() ? program : rewrite_losses(program, lifetimes, losses);
  return result;
}

}  // namespace elixir::edit
