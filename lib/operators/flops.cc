// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/flops.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "program/arguments/arguments.h"

namespace elixir::operators {
using program::Arguments;
using program::Bools;
using program::Operator;
using program::TensorRef;

namespace {

/// Wide enough for every product of sizes; up to 2^64 it is exact.
using Wide = long double;

Wide elements(const TensorRef& tensor) {
  return static_cast<Wide>(tensor.numel());
}

/// The product of (…, m, k) and (…, k, n).
Wide product(const TensorRef* a, const TensorRef* b) {
  if (a == nullptr || b == nullptr || b->sizes.empty()) return 0;
  if (b->sizes.size() == 1) return 2 * elements(*a);  // matrix by vector
  return 2 * elements(*a) * static_cast<Wide>(b->sizes.back());
}

/// Groups of rows or columns, each with a matrix of its own. Groups of rows, and columns by rows,
/// take as much as one product. A batch by groups of columns takes one of its matrices for each
/// column.
Wide grouped_product(const TensorRef* a, const TensorRef* b) {
  if (a == nullptr || b == nullptr || a->sizes.empty()) return 0;
  const bool columns = a->sizes.size() == 3 && b->sizes.size() == 2;
  return product(a, b) / static_cast<Wide>(columns ? std::max<std::int64_t>(a->sizes[0], 1) : 1);
}

/// Each output element needs (input channels of its group) * (kernel elements) multiply-adds.
Wide convolution(const TensorRef* output, const Arguments& call) {
  const TensorRef* weight = call.tensor("weight");
  const TensorRef* input = call.tensor("input");
  if (output == nullptr || weight == nullptr || input == nullptr || weight->sizes.size() < 2) {
    return 0;
  }
  Wide per_element = 1;
  for (std::size_t i = 1; i < weight->sizes.size(); ++i) {
    per_element *= static_cast<Wide>(weight->sizes[i]);
  }
  return 2 * elements(call.flag("transposed") ? *input : *output) * per_element;
}

/// query (B, H, T, D), key (B, H, S, D), value (B, H, S, E): two products forward, five backward.
Wide attention(const Arguments& call, Wide products) {
  const TensorRef* query = call.tensor("query");
  const TensorRef* key = call.tensor("key");
  if (query == nullptr || key == nullptr || query->sizes.size() != 4 || key->sizes.size() != 4) {
    return 0;
  }
  return 2 * products * elements(*query) * static_cast<Wide>(key->sizes[2]);
}

/// One step and sample of oneDNN's recurrent layers: gates * hidden by (features + hidden).
Wide recurrent_layer(const TensorRef* input,
                     const TensorRef* of_input,
                     const TensorRef* of_hidden) {
  if (input == nullptr || of_input == nullptr || of_hidden == nullptr || input->sizes.size() != 3) {
    return 0;
  }
  return 2 * static_cast<Wide>(input->sizes[0]) * static_cast<Wide>(input->sizes[1]) *
         (elements(*of_input) + elements(*of_hidden));
}

Wide exact_flops_of(const Operator& op) {
  const std::string_view name = op.name;
  const Arguments call(op);
  if (name == "aten::mm" || name == "aten::bmm") {
    return product(call.tensor("self"), call.tensor("mat2"));
  }
  if (name == "aten::_grouped_mm") {
    return grouped_product(call.tensor("self"), call.tensor("mat2"));
  }
  if (name == "aten::mv") return product(call.tensor("self"), call.tensor("vec"));
  if (name == "aten::dot") return product(call.tensor("self"), call.tensor("tensor"));
  if (name == "aten::addmm") return product(call.tensor("mat1"), call.tensor("mat2"));
  if (name == "aten::baddbmm") return product(call.tensor("batch1"), call.tensor("batch2"));
  if (name == "aten::addmv") return product(call.tensor("mat"), call.tensor("vec"));
  if (name == "aten::convolution" || name == "aten::_convolution") {
    const auto* output = op.outputs.empty() ? nullptr : std::get_if<TensorRef>(&op.outputs[0]);
    return convolution(output, call);
  }
  if (name == "aten::convolution_backward") {
    const Wide once = convolution(call.tensor("grad_output"), call);
    const Bools mask = call.booleans("output_mask");
    if (mask.size() != 3) return 2 * once;
    return once * (static_cast<Wide>(mask[0]) + static_cast<Wide>(mask[1]));
  }
  if (name.substr(0, 31) == "aten::_scaled_dot_product_flash" ||
      name.substr(0, 31) == "aten::_scaled_dot_product_effic" ||
      name.substr(0, 31) == "aten::_scaled_dot_product_cudnn") {
    return attention(call, name.find("_backward") != std::string_view::npos ? 5 : 2);
  }
  if (name == "aten::mkldnn_rnn_layer") {
    return recurrent_layer(call.tensor("input"), call.tensor("weight0"), call.tensor("weight1"));
  }
  if (name == "aten::mkldnn_rnn_layer_backward") {
    return 2 *
           recurrent_layer(call.tensor("input"), call.tensor("weight1"), call.tensor("weight2"));
  }
  return 0;
}

}  // namespace

std::int64_t flops_of(const Operator& op) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Wide flops = exact_flops_of(op);
  return flops < static_cast<Wide>(kMost) ? static_cast<std::int64_t>(flops) : kMost;
}

}  // namespace elixir::operators
