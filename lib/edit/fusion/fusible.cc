// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/fusion/fusible.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>

namespace elixir::edit {
namespace {

using operators::FusedStep;
using program::Argument;
using program::DType;
using program::Ints;
using program::Operator;
using program::TensorRef;
using Kind = FusedStep::Kind;
using Step = std::int32_t;

constexpr Step kNone = -1;

/// One call while its steps are written. A missing value makes all that follow from it missing.
class Call {
 public:
  Call(const Operator& op, FusedSteps& steps, const LoadTensor& load)
      : op_(op), steps_(steps), load_(load) {}

  /// A tensor, or a number.
  Step value(std::size_t i) {
    if (const auto* tensor = this->tensor(i)) return checked(load_(*tensor));
    const auto number = this->number(i);
    return number ? steps_.constant(*number) : missing();
  }
  [[nodiscard]] const TensorRef* tensor(std::size_t i) const {
    return i < op_.arguments.size() ? std::get_if<TensorRef>(&op_.arguments[i]) : nullptr;
  }
  [[nodiscard]] std::optional<double> number(std::size_t i) const {
    if (i >= op_.arguments.size()) return std::nullopt;
    if (const auto* value = std::get_if<double>(&op_.arguments[i])) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&op_.arguments[i])) {
      return static_cast<double>(*value);
    }
    return std::nullopt;
  }
  [[nodiscard]] bool is_none(std::size_t i) const {
    return i < op_.arguments.size() && std::holds_alternative<program::None>(op_.arguments[i]);
  }
  template <class Value>
  [[nodiscard]] const Value* plain(std::size_t i) const {
    return i < op_.arguments.size() ? std::get_if<Value>(&op_.arguments[i]) : nullptr;
  }

  Step add(Step a, Step b) { return step(Kind::kAdd, a, b); }
  Step sub(Step a, Step b) { return step(Kind::kSub, a, b); }
  Step mul(Step a, Step b) { return step(Kind::kMul, a, b); }
  Step div(Step a, Step b) { return step(Kind::kDiv, a, b); }
  Step one(Kind kind, Step a) { return a < 0 ? missing() : steps_.add(kind, a); }
  Step step(Kind kind, Step a, Step b) {
    return a < 0 || b < 0 ? missing() : steps_.add(kind, a, b);
  }
  /// `a` where `condition` is not 0, else `b`.
  Step where(Step condition, Step a, Step b) {
    return condition < 0 || a < 0 || b < 0 ? missing() : steps_.add(Kind::kWhere, condition, a, b);
  }
  Step constant(double value) { return steps_.constant(value); }
  Step missing() {
    missing_ = true;
    return kNone;
  }
  [[nodiscard]] bool is_missing() const { return missing_; }
  [[nodiscard]] const Operator& op() const { return op_; }

 private:
  Step checked(Step step) { return step < 0 ? missing() : step; }

  const Operator& op_;
  FusedSteps& steps_;
  const LoadTensor& load_;
  bool missing_ = false;
};

/// The second argument times `alpha`, the third.
Step scaled_other(Call& call) {
  const auto alpha = call.number(2);
  if (!alpha) return call.missing();
  const Step other = call.value(1);
  return *alpha == 1 ? other : call.mul(other, call.constant(*alpha));
}

Step power(Call& call) {
  const Step base = call.value(0);
  const auto exponent = call.number(1);
  if (!exponent) return call.step(Kind::kPow, base, call.value(1));
  if (*exponent == 0.5) return call.one(Kind::kSqrt, base);
  if (*exponent == -0.5) return call.one(Kind::kRsqrt, base);
  if (*exponent == -1) return call.div(call.constant(1), base);
  if (*exponent == -2) return call.div(call.constant(1), call.mul(base, base));
  if (*exponent == 1) return base;
  if (*exponent == 2) return call.mul(base, base);
  if (*exponent == 3) return call.mul(call.mul(base, base), base);
  return call.step(Kind::kPow, base, call.constant(*exponent));
}

Step sigmoid(Call& call, Step x) {
  const Step one = call.constant(1);
  return call.div(one, call.add(one, call.one(Kind::kExp, call.one(Kind::kNeg, x))));
}

Step silu_backward(Call& call) {
  const Step gradient = call.value(0), x = call.value(1), s = sigmoid(call, x);
  const Step one = call.constant(1);
  return call.mul(call.mul(gradient, s), call.add(one, call.mul(x, call.sub(one, s))));
}

constexpr double kGeluCubic = 0.044715;

/// tanh(√(2/π) (x + 0.044715 x³)).
Step gelu_tanh(Call& call, Step x) {
  const Step cube = call.mul(call.mul(x, x), x);
  const Step inner = call.add(x, call.mul(call.constant(kGeluCubic), cube));
  const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return call.one(Kind::kTanh, call.mul(call.constant(beta), inner));
}

/// 1 + erf(x/√2).
Step one_and_erf(Call& call, Step x) {
  const Step scaled = call.mul(x, call.constant(1 / std::numbers::sqrt2));
  return call.add(call.constant(1), call.one(Kind::kErf, scaled));
}

Step gelu(Call& call) {
  const auto* form = call.plain<std::string>(1);
  if (form == nullptr) return call.missing();
  const Step x = call.value(0);
  const Step half = call.mul(call.constant(0.5), x);
  if (*form == "none") return call.mul(half, one_and_erf(call, x));
  return call.mul(half, call.add(call.constant(1), gelu_tanh(call, x)));
}

Step gelu_backward(Call& call) {
  const auto* form = call.plain<std::string>(2);
  if (form == nullptr) return call.missing();
  const Step gradient = call.value(0), x = call.value(1);
  const Step half = call.constant(0.5), one = call.constant(1);
  if (*form == "none") {
    const Step density =
        call.mul(call.constant(std::numbers::inv_sqrtpi / std::numbers::sqrt2),
                 call.one(Kind::kExp, call.mul(call.mul(x, x), call.constant(-0.5))));
    const Step slope = call.add(call.mul(half, one_and_erf(call, x)), call.mul(x, density));
    return call.mul(gradient, slope);
  }
  const Step t = gelu_tanh(call, x);
  const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Step of_inner = call.mul(
      call.constant(beta), call.add(one, call.mul(call.constant(3 * kGeluCubic), call.mul(x, x))));
  const Step of_tanh = call.sub(one, call.mul(t, t));
  const Step left = call.mul(half, call.add(one, t));
  const Step right = call.mul(call.mul(call.mul(half, x), of_tanh), of_inner);
  return call.mul(gradient, call.add(left, right));
}

/// The first argument, and 0 where the `x` is not above the threshold. A NaN is.
Step above_threshold(Call& call, Step value, Step x, Step threshold) {
  return call.where(call.step(Kind::kLessEqual, x, threshold), call.constant(0), value);
}

/// Over the last of several dimensions, which stays with size 1.
bool is_of_rows(const Call& call) {
  const TensorRef* from = call.tensor(0);
  const auto* dimensions = call.plain<Ints>(1);
  const auto* keeps = call.plain<bool>(2);
  if (from == nullptr || dimensions == nullptr || keeps == nullptr || !*keeps) return false;
  const auto rank = static_cast<std::int64_t>(from->sizes.size());
  return dimensions->size() == 1 && rank > 0 && from->sizes.back() > 1 &&
         (dimensions->front() == -1 || dimensions->front() == rank - 1);
}

Step sum_of_rows(Call& call) {
  return is_of_rows(call) ? call.one(Kind::kSum, call.value(0)) : call.missing();
}

Step mean(Call& call, Step x, std::int64_t count) {
  return call.div(call.one(Kind::kSum, x), call.constant(static_cast<double>(count)));
}

/// A layer norm over the last dimension alone.
bool norms_rows(const Call& call, std::size_t shape) {
  const TensorRef* x = call.tensor(shape - 1);
  const auto* normalized = call.plain<Ints>(shape);
  return x != nullptr && normalized != nullptr && normalized->size() == 1 && !x->sizes.empty() &&
         x->sizes.back() > 1 && normalized->front() == x->sizes.back();
}

/// (input, shape, weight?, bias?, eps) -> result, mean, 1 / standard deviation
std::vector<Step> layer_norm(Call& call) {
  const auto eps = call.number(4);
  if (!norms_rows(call, 1) || !eps) return {};
  const Step x = call.value(0);
  const std::int64_t count = call.tensor(0)->sizes.back();
  const Step average = mean(call, x, count);
  const Step centred = call.sub(x, average);
  const Step variance = mean(call, call.mul(centred, centred), count);
  const Step scale = call.one(Kind::kRsqrt, call.add(variance, call.constant(*eps)));
  Step result = call.mul(centred, scale);
  if (!call.is_none(2)) result = call.mul(result, call.value(2));
  if (!call.is_none(3)) result = call.add(result, call.value(3));
  return {result, average, scale};
}

/// (gradient, input, shape, mean, scale, weight?, bias?, which) -> of the input alone
std::vector<Step> layer_norm_backward(Call& call) {
  const auto* which = call.plain<program::Bools>(7);
  if (!norms_rows(call, 2) || which == nullptr || *which != program::Bools{true, false, false}) {
    return {};
  }
  Step gradient = call.value(0);
  if (!call.is_none(5)) gradient = call.mul(gradient, call.value(5));
  const Step scale = call.value(4);
  const Step normal = call.mul(call.sub(call.value(1), call.value(3)), scale);
  const std::int64_t count = call.tensor(1)->sizes.back();
  const Step of_gradient = mean(call, gradient, count);
  const Step of_product = mean(call, call.mul(gradient, normal), count);
  const Step centred = call.sub(call.sub(gradient, of_gradient), call.mul(normal, of_product));
  return {call.mul(centred, scale), kNone, kNone};
}

/// One result.
using Write = Step (*)(Call&);

const std::unordered_map<std::string_view, Write>& writers() {
  static const std::unordered_map<std::string_view, Write> all = {
      {"add", [](Call& c) { return c.add(c.value(0), scaled_other(c)); }},
      {"sub", [](Call& c) { return c.sub(c.value(0), scaled_other(c)); }},
      {"rsub",
       [](Call& c) {
         const auto alpha = c.number(2);
         return alpha == 1.0 ? c.sub(c.value(1), c.value(0)) : c.missing();
       }},
      {"mul", [](Call& c) { return c.mul(c.value(0), c.value(1)); }},
      {"div",
       [](Call& c) {
         return c.op().arguments.size() == 2 ? c.div(c.value(0), c.value(1)) : c.missing();
       }},
      {"neg", [](Call& c) { return c.one(Kind::kNeg, c.value(0)); }},
      {"sqrt", [](Call& c) { return c.one(Kind::kSqrt, c.value(0)); }},
      {"rsqrt", [](Call& c) { return c.one(Kind::kRsqrt, c.value(0)); }},
      {"exp", [](Call& c) { return c.one(Kind::kExp, c.value(0)); }},
      {"tanh", [](Call& c) { return c.one(Kind::kTanh, c.value(0)); }},
      {"pow", power},
      {"reciprocal", [](Call& c) { return c.div(c.constant(1), c.value(0)); }},
      {"sigmoid", [](Call& c) { return sigmoid(c, c.value(0)); }},
      {"sigmoid_backward",
       [](Call& c) {
         const Step y = c.value(1);
         return c.mul(c.value(0), c.mul(y, c.sub(c.constant(1), y)));
       }},
      {"tanh_backward",
       [](Call& c) {
         const Step y = c.value(1);
         return c.mul(c.value(0), c.sub(c.constant(1), c.mul(y, y)));
       }},
      {"silu",
       [](Call& c) {
         const Step x = c.value(0), one = c.constant(1);
         return c.div(x, c.add(one, c.one(Kind::kExp, c.one(Kind::kNeg, x))));
       }},
      {"silu_backward", silu_backward},
      {"gelu", gelu},
      {"gelu_backward", gelu_backward},
      {"relu",
       [](Call& c) {
         const Step x = c.value(0);
         return above_threshold(c, x, x, c.constant(0));
       }},
      {"threshold_backward",
       [](Call& c) { return above_threshold(c, c.value(0), c.value(1), c.value(2)); }},
      {"_to_copy", [](Call& c) { return c.value(0); }},
      {"clone", [](Call& c) { return c.value(0); }},
      // A slice that is everything.
      {"slice_backward",
       [](Call& c) {
         const TensorRef* gradient = c.tensor(0);
         const auto* sizes = c.plain<Ints>(1);
         const bool whole = gradient != nullptr && sizes != nullptr && *sizes == gradient->sizes;
         return whole ? c.value(0) : c.missing();
       }},
      {"native_dropout_backward",
       [](Call& c) { return c.mul(c.value(0), c.mul(c.value(1), c.value(2))); }},
      {"where", [](Call& c) { return c.where(c.value(0), c.value(1), c.value(2)); }},
      {"masked_fill", [](Call& c) { return c.where(c.value(1), c.value(2), c.value(0)); }},
      {"sum", sum_of_rows},
      {"mean",
       [](Call& c) {
         if (!is_of_rows(c)) return c.missing();
         return mean(c, c.value(0), c.tensor(0)->sizes.back());
       }},
  };
  return all;
}

/// "aten::add_" and "aten::add" are "add"; "" for operators of others.
std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

bool takes_rows(std::string_view name) {
  return name == "sum" || name == "mean" || name == "native_layer_norm";
}

bool is_value(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

bool is_result(const program::Program& program,
               const Operator& op,
               const TensorRef& result,
               const Ints& shape) {
  Ints of_rows = shape;
  of_rows.back() = 1;
  if (!is_value(result.dtype) || (result.sizes != shape && result.sizes != of_rows)) return false;
  const auto strides = strides_over(result, shape);
  if (!strides || result.sizes.back() != (strides->back() == 0 ? 1 : shape.back())) return false;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (result.sizes[d] > 1 && (*strides)[d] == 0) return false;
    elements *= result.sizes[d];
  }
  if (program.storages[result.storage].on_host) return false;
  if (op.writes) return true;
  return result.offset == 0 &&
         program.storages[result.storage].bytes == elements * program::element_bytes(result.dtype);
}

}  // namespace

std::int32_t FusedSteps::add(const FusedStep& step) {
  const auto found = std::find(program_.begin(), program_.end(), step);
  if (found != program_.end()) return static_cast<std::int32_t>(found - program_.begin());
  program_.push_back(step);
  return static_cast<std::int32_t>(program_.size() - 1);
}
std::int32_t FusedSteps::add(Kind kind, std::int32_t a, std::int32_t b, std::int32_t c) {
  return add(FusedStep{.kind = kind, .operands = {a, b, c}});
}
std::int32_t FusedSteps::constant(double value) {
  return add(FusedStep{.kind = Kind::kConstant, .constant = value});
}

std::vector<std::int32_t> write_steps(const Operator& op,
                                      FusedSteps& steps,
                                      const LoadTensor& load) {
  const std::string_view name = plain_name(op.name);
  Call call(op, steps, load);
  std::vector<std::int32_t> results;
  if (name == "native_layer_norm") {
    results = layer_norm(call);
  } else if (name == "native_layer_norm_backward") {
    results = layer_norm_backward(call);
  } else if (const auto found = writers().find(name); found != writers().end()) {
    results = {found->second(call)};
  }
  if (call.is_missing() || results.size() != op.outputs.size()) return {};
  return results;
}

std::optional<Ints> strides_over(const TensorRef& tensor, const Ints& shape) {
  if (tensor.sizes.size() > shape.size() || shape.empty()) return std::nullopt;
  Ints strides(shape.size(), 0);
  const std::size_t missing = shape.size() - tensor.sizes.size();
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 1) continue;
    if (tensor.sizes[d] != shape[missing + d] || tensor.strides[d] < 0) return std::nullopt;
    strides[missing + d] = tensor.strides[d];
  }
  if (strides.back() > 1) return std::nullopt;
  return strides;
}

std::optional<Ints> fusible_shape(const program::Program& program, const Operator& op) {
  // A call that an edit repeats, or that repeats another, is left as it is.
  if (op.repeats >= 0 || op.outputs.empty()) return std::nullopt;
  const std::string_view name = plain_name(op.name);
  const auto* first = std::get_if<TensorRef>(&op.outputs[0]);
  const auto* from = op.arguments.empty() ? nullptr : std::get_if<TensorRef>(&op.arguments[0]);
  if (name.empty() || first == nullptr || (takes_rows(name) && from == nullptr)) {
    return std::nullopt;
  }
  const Ints shape = takes_rows(name) ? from->sizes : first->sizes;
  if (shape.empty() || std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return std::nullopt;
  }
  bool good = true;
  program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
    good = good && (is_value(tensor.dtype) || tensor.dtype == DType::kBool) &&
           !tensor.wrapped_number && !tensor.negative &&
           !program.storages[tensor.storage].on_host && strides_over(tensor, shape);
  });
  if (op.writes) {
    // What is written is the first argument, as it is.
    if (from == nullptr || op.outputs.size() != 1 || !op.name.ends_with('_')) return std::nullopt;
    TensorRef before = *first;
    before.version = from->version;
    good = good && before == *from && first->version == from->version + 1;
  }
  program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
    good = good && is_result(program, op, tensor, shape);
  });
  if (!good) return std::nullopt;
  FusedSteps steps;
  const auto any = [&steps](const TensorRef& tensor) {
    return steps.add(Kind::kInput, tensor.storage);
  };
  if (write_steps(op, steps, any).empty()) return std::nullopt;
  return shape;
}

}  // namespace elixir::edit
