// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// In the captured program, with p the log-softmax, s the smoothing, C classes:
//
//   each = neg(sum(p, 1))                       with weights: of mul(p, weight)
//   masked_fill_(each, eq(target, ignored), 0)
//   loss = add(mul(nll, 1 - s), mul(each', s / C))
//
// each' is `each` (no reduction), its sum (sum), or its sum over the sum of weights (mean): over
// sum(bitwise_not(eq)), or over the sum of the targets' weights. Backward, with g the loss's
// gradient:
//
//   d = add(neg(masked_fill(mul(g, s / C)', eq, 0)), nll_loss_backward(mul(g, 1 - s), …))
//
// where mul(g, s / C)' is divided as `each` was, and the negation is multiplied with the weights.
#include "edit/loss/label_smoothing.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "program/arguments/arguments.h"

namespace elixir::edit {
namespace {

using program::Argument;
using program::Arguments;
using program::Ints;
using program::Operator;
using program::OperatorId;
using program::StorageId;
using program::TensorRef;

const TensorRef* tensor_at(const Operator& op, std::size_t position) {
  return position < op.arguments.size() ? std::get_if<TensorRef>(&op.arguments[position]) : nullptr;
}

std::optional<double> number_at(const Operator& op, std::size_t position) {
  if (position >= op.arguments.size()) return std::nullopt;
  if (const auto* real = std::get_if<double>(&op.arguments[position])) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&op.arguments[position])) {
    return static_cast<double>(*integer);
  }
  return std::nullopt;
}

bool is_call(const Operator* op, std::string_view name, std::string_view overload = {}) {
  return op != nullptr && op->name == name && (overload.empty() || op->overload == overload);
}

class SmoothingMatcher {
 public:
  SmoothingMatcher(const Dataflow& flow, const Operator& loss, LabelSmoothing& found)
      : flow_(flow),
        loss_(loss),
        target_(Arguments(loss).tensor("target")),
        weight_(Arguments(loss).tensor("weight")),
        log_softmax_(*Arguments(loss).tensor("self")),
        reduction_(Arguments(loss).integer("reduction").value_or(-1)),
        ignored_(Arguments(loss).integer("ignore_index").value_or(-1)),
        found_(found) {}

  /// Whether everything matches; else `at()` is the operator that does not.
  bool match(const Operator& first, const Operator& loss_backward) {
    differs_ = &first;
    return match_forward(first) && match_backward(loss_backward);
  }
  [[nodiscard]] const Operator& at() const { return *differs_; }

 private:
  static constexpr std::int64_t kNone = 0, kMean = 1;  // at::Reduction

  bool take(const Operator* op) {
    if (op == nullptr) return false;
    found_.operators.push_back(op->id);
    differs_ = op;
    return true;
  }
  /// Takes the next operator that uses the result of the last one, if it is this call. It becomes
  /// the one that differs when later checks fail.
  bool take_user(std::string_view name, std::string_view overload = {}) {
    const Operator& last = *differs_;
    for (const OperatorId id : flow_.users(result_of(last)->storage)) {
      if (id <= last.id) continue;
      differs_ = &flow_.at(id);
      return is_call(differs_, name, overload) && take(differs_);
    }
    return false;
  }
  /// Takes the operator that makes `tensor`, if it is this call.
  const Operator* take_producer(const TensorRef* tensor, std::string_view name) {
    const Operator* op = tensor == nullptr ? nullptr : flow_.producer(*tensor);
    return is_call(op, name) && take(op) ? op : nullptr;
  }
  [[nodiscard]] static bool same_storage(const TensorRef* a, const TensorRef* b) {
    return a != nullptr && b != nullptr && a->storage == b->storage && a->version == b->version;
  }
  /// The weights as one row.
  [[nodiscard]] bool is_row_of_weights(const TensorRef* tensor) const {
    return weight_ != nullptr && same_storage(tensor, weight_) && is_dense(*tensor) &&
           tensor->offset == weight_->offset && tensor->numel() == weight_->numel();
  }
  /// A mask of the rows that are ignored.
  bool is_mask(const TensorRef* mask) {
    const Operator* op = mask == nullptr ? nullptr : flow_.producer(*mask);
    const bool known = mask_ >= 0 && mask->storage == mask_;
    if (known) return is_dense(*mask);
    if (!is_call(op, "aten::eq", "Scalar") || !same_storage(tensor_at(*op, 0), target_) ||
        number_at(*op, 1) != static_cast<double>(ignored_) || !is_dense(*mask)) {
      return false;
    }
    mask_ = mask->storage;
    found_.operators.push_back(op->id);
    return true;
  }
  /// Fills what is ignored with zeros.
  bool is_zeroing(const Operator& fill) {
    return is_mask(tensor_at(fill, 1)) && number_at(fill, 2) == 0.0;
  }

  bool match_forward(const Operator& first) {
    if (first.name == "aten::mul") {
      if (first.overload != "Tensor" || !is_row_of_weights(tensor_at(first, 1))) return false;
      take(&first);
      if (!take_user("aten::sum", "dim_IntList")) return false;
    } else {
      if (weight_ != nullptr || !is_call(&first, "aten::sum", "dim_IntList")) return false;
      take(&first);
    }
    const auto* dimensions = std::get_if<Ints>(&at().arguments.at(1));
    if (dimensions == nullptr || (*dimensions != Ints{1} && *dimensions != Ints{-1})) return false;
    if (!std::holds_alternative<program::None>(at().arguments.at(3))) return false;
    if (!take_user("aten::neg") || !take_user("aten::masked_fill_", "Scalar") ||
        !is_zeroing(at())) {
      return false;
    }
    if (reduction_ != kNone && !take_user("aten::sum", "")) return false;
    if (reduction_ != kNone && at().arguments.size() != 2) return false;
    if (reduction_ == kMean &&
        (!take_user("aten::div", "Tensor") || !is_sum_of_weights(tensor_at(at(), 1)))) {
      return false;
    }
    if (!take_user("aten::mul", "Scalar")) return false;
    of_class_ = number_at(at(), 1);
    const TensorRef* smooth = result_of(at());
    if (!take_user("aten::add", "Tensor") || number_at(at(), 2) != 1.0) return false;
    const Operator& sum = at();
    const bool smooth_is_first = same_storage(tensor_at(sum, 0), smooth);
    const Operator* scaled = take_producer(tensor_at(sum, smooth_is_first ? 1 : 0), "aten::mul");
    if (scaled == nullptr || !same_storage(tensor_at(*scaled, 0), result_of(loss_))) return false;
    of_target_ = number_at(*scaled, 1);
    differs_ = &sum;
    if (!of_class_ || !of_target_ || result_of(sum) == nullptr) return false;
    found_.loss = *result_of(sum);
    found_.amount = *of_class_ * static_cast<double>(log_softmax_.sizes.at(1));
    constexpr double kRounding = 1e-12;
    return found_.amount > 0 && std::abs(found_.amount + *of_target_ - 1) < kRounding;
  }

  /// What a mean is divided by.
  bool is_sum_of_weights(const TensorRef* divisor) {
    const Operator& division = at();
    const Operator* sum = take_producer(divisor, "aten::sum");
    if (sum == nullptr || sum->arguments.size() != 2) return false;
    divisor_ = divisor->storage;
    const TensorRef* summed = tensor_at(*sum, 0);
    const bool matches = weight_ == nullptr ? is_count(summed) : are_weights_of_targets(summed);
    differs_ = &division;
    return matches;
  }
  bool is_count(const TensorRef* counted) {
    const Operator* op = take_producer(counted, "aten::bitwise_not");
    return op != nullptr && is_mask(tensor_at(*op, 0));
  }
  bool are_weights_of_targets(const TensorRef* weights) {
    const Operator* gather = take_producer(weights, "aten::gather");
    if (gather == nullptr || !is_row_of_weights(tensor_at(*gather, 0))) return false;
    const Operator* classes = take_producer(tensor_at(*gather, 2), "aten::masked_fill");
    if (classes == nullptr || !same_storage(tensor_at(*classes, 0), target_) ||
        !is_zeroing(*classes)) {
      return false;
    }
    const Operator* zeroed = flow_.user(weights->storage, "aten::masked_fill_", gather->id);
    return zeroed != nullptr && take(zeroed) && is_zeroing(*zeroed);
  }

  bool match_backward(const Operator& loss_backward) {
    differs_ = &loss_backward;
    const TensorRef* of_nll = result_of(loss_backward);
    const Operator* scaled = take_producer(tensor_at(loss_backward, 0), "aten::mul");
    if (of_nll == nullptr || scaled == nullptr || number_at(*scaled, 1) != of_target_) return false;
    const TensorRef* gradient = tensor_at(*scaled, 0);
    if (gradient == nullptr) return false;
    found_.loss_gradient = *gradient;
    differs_ = &loss_backward;
    for (const OperatorId id : flow_.users(of_nll->storage)) {
      if (id > loss_backward.id) {
        differs_ = &flow_.at(id);
        break;
      }
    }
    const Operator& sum = at();
    if ((sum.name != "aten::add" && sum.name != "aten::add_") || number_at(sum, 2) != 1.0) {
      return false;
    }
    take(&sum);
    found_.log_softmax_gradient = *result_of(sum);
    const bool nll_is_first = same_storage(tensor_at(sum, 0), of_nll);
    return match_smooth_gradient(tensor_at(sum, nll_is_first ? 1 : 0));
  }

  /// `of_rows` is the gradient of the log-softmax by the smoothed part.
  bool match_smooth_gradient(const TensorRef* of_rows) {
    if (weight_ != nullptr) {
      const Operator* weighted = take_producer(of_rows, "aten::mul");
      if (weighted == nullptr || !is_row_of_weights(tensor_at(*weighted, 1))) return false;
      of_rows = tensor_at(*weighted, 0);
    }
    if (of_rows == nullptr || of_rows->sizes != log_softmax_.sizes || !is_column(*of_rows)) {
      return false;
    }
    const Operator* negated = take_producer(of_rows, "aten::neg");
    if (negated == nullptr) return false;
    const Operator* zeroed = take_producer(tensor_at(*negated, 0), "aten::masked_fill");
    if (zeroed == nullptr || !is_zeroing(*zeroed)) return false;
    const TensorRef* each = tensor_at(*zeroed, 0);
    if (reduction_ == kMean) {
      const Operator* divided = take_producer(each, "aten::div");
      if (divided == nullptr || tensor_at(*divided, 1) == nullptr ||
          tensor_at(*divided, 1)->storage != divisor_) {
        return false;
      }
      each = tensor_at(*divided, 0);
    }
    const Operator* scaled = take_producer(each, "aten::mul");
    return scaled != nullptr && number_at(*scaled, 1) == of_class_ &&
           tensor_at(*scaled, 0) != nullptr && *tensor_at(*scaled, 0) == found_.loss_gradient;
  }
  /// One number for each row, seen as rows of classes.
  [[nodiscard]] static bool is_column(const TensorRef& tensor) {
    return (tensor.sizes[0] == 1 || tensor.strides[0] == 1) &&
           (tensor.sizes[1] == 1 || tensor.strides[1] == 0);
  }

  const Dataflow& flow_;
  const Operator& loss_;
  const TensorRef* target_;
  const TensorRef* weight_;  ///< nullptr: none
  const TensorRef& log_softmax_;
  std::int64_t reduction_, ignored_;
  LabelSmoothing& found_;
  const Operator* differs_ = nullptr;
  StorageId mask_ = -1, divisor_ = -1;
  std::optional<double> of_class_, of_target_;
};

}  // namespace

std::string match_label_smoothing(const Dataflow& flow,
                                  const Operator& loss,
                                  const Operator& loss_backward,
                                  const Operator& first,
                                  LabelSmoothing& found) {
  if (first.name != "aten::sum" && first.name != "aten::mul") {
    return because(first, "uses the log-softmax too");
  }
  SmoothingMatcher matcher(flow, loss, found);
  if (matcher.match(first, loss_backward)) return {};
  return because(matcher.at(), "uses the log-softmax otherwise than label smoothing does");
}

}  // namespace elixir::edit
