// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/flops.h"

#include <string_view>

namespace elixir::operators {
using program::Argument;
using program::Bools;
using program::Operator;
using program::TensorRef;

namespace {

const TensorRef* tensor_at(const std::vector<Argument>& values, std::size_t position) {
  return position < values.size() ? std::get_if<TensorRef>(&values[position]) : nullptr;
}

/// (…, m, k) by (…, k, n) with the operands at `left` and `left + 1`.
std::int64_t product(const Operator& call, std::size_t left) {
  const TensorRef* a = tensor_at(call.arguments, left);
  const TensorRef* b = tensor_at(call.arguments, left + 1);
  if (a == nullptr || b == nullptr || b->sizes.empty()) return 0;
  if (b->sizes.size() == 1) return 2 * a->numel();  // matrix by vector
  return 2 * a->numel() * b->sizes.back();
}

/// Each output element needs (input channels of its group) * (kernel elements) multiply-adds.
std::int64_t convolution(const TensorRef* output,
                         const TensorRef* weight,
                         bool transposed,
                         const TensorRef* input) {
  if (output == nullptr || weight == nullptr || input == nullptr || weight->sizes.size() < 2) {
    return 0;
  }
  std::int64_t per_element = 1;
  for (std::size_t i = 1; i < weight->sizes.size(); ++i) per_element *= weight->sizes[i];
  return 2 * (transposed ? input->numel() : output->numel()) * per_element;
}

/// query (B, H, T, D), key (B, H, S, D), value (B, H, S, E): two products forward, five backward.
std::int64_t attention(const Operator& call, std::size_t query, std::int64_t forward_products) {
  const TensorRef* q = tensor_at(call.arguments, query);
  const TensorRef* k = tensor_at(call.arguments, query + 1);
  if (q == nullptr || k == nullptr || q->sizes.size() != 4 || k->sizes.size() != 4) return 0;
  return 2 * forward_products * q->numel() * k->sizes[2];
}

}  // namespace

std::int64_t flops_of(const Operator& call) {
  const std::string_view name = call.name;
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::mv" || name == "aten::dot") {
    return product(call, 0);
  }
  if (name == "aten::addmm" || name == "aten::baddbmm" || name == "aten::addmv") {
    return product(call, 1);
  }
  if (name == "aten::convolution" || name == "aten::_convolution") {
    constexpr std::size_t kTransposed = 6;
    const bool* transposed = kTransposed < call.arguments.size()
                                 ? std::get_if<bool>(&call.arguments[kTransposed])
                                 : nullptr;
    return convolution(tensor_at(call.outputs, 0),
                       tensor_at(call.arguments, 1),
                       transposed != nullptr && *transposed,
                       tensor_at(call.arguments, 0));
  }
  if (name == "aten::convolution_backward") {
    constexpr std::size_t kTransposed = 7;
    constexpr std::size_t kMask = 10;
    const bool* transposed = kTransposed < call.arguments.size()
                                 ? std::get_if<bool>(&call.arguments[kTransposed])
                                 : nullptr;
    const Bools* mask =
        kMask < call.arguments.size() ? std::get_if<Bools>(&call.arguments[kMask]) : nullptr;
    const std::int64_t once = convolution(tensor_at(call.arguments, 0),
                                          tensor_at(call.arguments, 2),
                                          transposed != nullptr && *transposed,
                                          tensor_at(call.arguments, 1));
    if (mask == nullptr || mask->size() != 3) return 2 * once;
    return once * (static_cast<std::int64_t>((*mask)[0]) + static_cast<std::int64_t>((*mask)[1]));
  }
  if (name.substr(0, 31) == "aten::_scaled_dot_product_flash" ||
      name.substr(0, 31) == "aten::_scaled_dot_product_effic" ||
      name.substr(0, 31) == "aten::_scaled_dot_product_cudnn") {
    const bool backward = name.find("_backward") != std::string_view::npos;
    return backward ? attention(call, 1, 5) : attention(call, 0, 2);
  }
  if (name == "aten::mkldnn_rnn_layer" || name == "aten::mkldnn_rnn_layer_backward") {
    // Per time step and sample: gates * hidden by (features + hidden).
    const TensorRef* input = tensor_at(call.arguments, 0);
    const TensorRef* w_input = tensor_at(call.arguments, 1);
    const TensorRef* w_hidden = tensor_at(call.arguments, 2);
    if (input == nullptr || w_input == nullptr || w_hidden == nullptr || input->sizes.size() != 3) {
      return 0;
    }
    const std::int64_t steps = input->sizes[0] * input->sizes[1];
    const std::int64_t forward = 2 * steps * (w_input->numel() + w_hidden->numel());
    return name == "aten::mkldnn_rnn_layer" ? forward : 2 * forward;
  }
  return 0;
}

}  // namespace elixir::operators
