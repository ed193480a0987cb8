// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of attention operators. The order in memory is (batch, sequence, head, width), but the
// shape is (batch, head, sequence, width).
#include <algorithm>
#include <array>
#include <cstddef>

#include <ATen/OpMathType.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"
#include "core/units.h"

namespace elixir::capture {
namespace {

using program::Target;

at::Tensor sequence_major(at::IntArrayRef seen, const at::Tensor& like) {
  check_count(seen.size(), 4, "the sizes of an attention's tensors");
  return new_empty({seen[0], seen[2], seen[1], seen[3]}, like).transpose(1, 2);
}
at::Tensor gradient_of(const at::Tensor& tensor) {
  return sequence_major(tensor.sizes(), tensor);
}

Values masked_softmax_backward(const Target&, const Call& call) {
  return {contiguous_like(call.tensor("grad_output"))};
}

Values safe_softmax(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {new_empty(input.sizes(), input, call.dtype_or("dtype", input.scalar_type()))};
}

Values flash_for_cpu(const Target&, const Call& call) {
  const at::Tensor query = call.tensor("query");
  const at::ScalarType statistic = at::toOpMathType(query.scalar_type());
  return {
      preserved_like(query),
      new_empty({query.size(0), query.size(2), query.size(1)}, query, statistic).transpose(1, 2)};
}

Values flash_for_cpu_backward(const Target&, const Call& call) {
  return {gradient_of(call.tensor("query")),
          gradient_of(call.tensor("key")),
          gradient_of(call.tensor("value"))};
}

/// logsumexp is padded to 32 rows.
Values efficient(const Target&, const Call& call) {
  constexpr std::int64_t kRows = 32;
  const at::Tensor query = call.tensor("query");
  const at::Tensor value = call.tensor("value");
  const std::int64_t rows = call.flag("compute_log_sumexp") ? round_up(query.size(2), kRows) : 0;
  return {sequence_major({query.size(0), query.size(1), query.size(2), value.size(3)}, query),
          new_empty({query.size(0), query.size(1), rows}, query, at::kFloat),
          new_empty({}, query, at::kLong),
          new_empty({}, query, at::kLong)};
}

/// The bias gradient's last dimension is padded to a multiple of 16.
Values efficient_backward(const Target&, const Call& call) {
  constexpr std::int64_t kColumns = 16;
  const at::Tensor bias = call.tensor_or_undefined("attn_bias");
  at::Tensor bias_gradient;
  if (bias.defined() && call.flags("grad_input_mask")[3]) {
    check_at_least(bias, 1, "attn_bias");
    Sizes sizes = bias.sizes().vec();
    sizes.back() = round_up(sizes.back(), kColumns);
    bias_gradient = new_empty(sizes, bias).narrow(-1, 0, bias.size(-1));
  }
  return {gradient_of(call.tensor("query")),
          gradient_of(call.tensor("key")),
          gradient_of(call.tensor("value")),
          bias_gradient};
}

/// The query with another width, dense, with its dimensions in the same order in memory.
at::Tensor with_width(const at::Tensor& query, std::int64_t width) {
  check_dim(query, 4, "query");
  if (query.size(3) == width) return preserved_like(query);
  const Sizes sizes{query.size(0), query.size(1), query.size(2), width};
  const auto stride = [&](std::size_t dimension) {
    const std::int64_t own = query.stride(static_cast<std::int64_t>(dimension));
    return own == 0 ? 1 : own;
  };
  std::array<std::size_t, 4> innermost_first{0, 1, 2, 3};
  std::stable_sort(innermost_first.begin(),
                   innermost_first.end(),
                   [&](std::size_t a, std::size_t b) { return stride(a) < stride(b); });
  Sizes strides(sizes.size());
  std::int64_t next = 1;
  for (const std::size_t dimension : innermost_first) {
    strides[dimension] = next;
    next *= sizes[dimension];
  }
  return new_empty(sizes, query).as_strided(sizes, strides);
}

/// The output has the query's dimension order and the values' width.
Values cudnn(const Target&, const Call& call) {
  const at::Tensor query = call.tensor("query");
  const at::Tensor key = call.tensor("key");
  return {with_width(query, call.tensor("value").size(3)),
          new_empty({query.size(0), query.size(1), query.size(2), 1}, query, at::kFloat),
          at::Tensor(),
          at::Tensor(),
          query.size(2),
          key.size(2),
          new_empty({}, query, at::kLong),
          new_empty({}, query, at::kLong),
          at::Tensor()};
}

Values cudnn_backward(const Target&, const Call& call) {
  return {preserved_like(call.tensor("query")),
          preserved_like(call.tensor("key")),
          preserved_like(call.tensor("value"))};
}

/// The orders of dimensions are as in the arguments. The generator's state exists even without
/// dropout.
Values flash(const Target&, const Call& call) {
  constexpr std::int64_t kStateWords = 2;
  const at::Tensor query = call.tensor("query");
  const at::Tensor key = call.tensor("key");
  return {preserved_like(query),
          new_empty({query.size(0), query.size(1), query.size(2)}, query, at::kFloat),
          at::Tensor(),
          at::Tensor(),
          query.size(2),
          key.size(2),
          new_empty({kStateWords}, query, at::kUInt64),
          new_empty({}, query, at::kUInt64),
          new_empty({0}, query)};
}

Values flash_backward(const Target&, const Call& call) {
  return {preserved_like(call.tensor("query")),
          preserved_like(call.tensor("key")),
          preserved_like(call.tensor("value"))};
}

}  // namespace

const Rules kAttentionRules = {
    {"aten::_masked_softmax", &preserved_as_self},
    {"aten::_masked_softmax_backward", &masked_softmax_backward},
    {"aten::_safe_softmax", &safe_softmax},
    {"aten::_scaled_dot_product_flash_attention", &flash},
    {"aten::_scaled_dot_product_flash_attention_backward", &flash_backward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", &flash_for_cpu},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", &flash_for_cpu_backward},
    {"aten::_scaled_dot_product_efficient_attention", &efficient},
    {"aten::_scaled_dot_product_efficient_attention_backward", &efficient_backward},
    {"aten::_scaled_dot_product_cudnn_attention", &cudnn},
    {"aten::_scaled_dot_product_cudnn_attention_backward", &cudnn_backward},
};

}  // namespace elixir::capture
