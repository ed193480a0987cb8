// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/transformers/cuda/attention{,_backward}.cu, native/cudnn/MHA.cpp, dropout.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/units.h"
#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

/// cuDNN's attention adds this much when it rounds a request up (measured, cuDNN 9.19).
constexpr std::int64_t kCudnnSlackBytes = 256;

/// The (batch, head, row, width) of a tensor with four dimensions.
struct Heads {
  std::int64_t batch, heads, rows, width;
  explicit Heads(const program::TensorRef& tensor)
      : batch(tensor.sizes.at(0)),
        heads(tensor.sizes.at(1)),
        rows(tensor.sizes.at(2)),
        width(tensor.sizes.at(3)) {}
  [[nodiscard]] std::int64_t all_rows() const { return batch * heads * rows; }
};

struct QueryAndKey {
  program::DType dtype;
  Heads query, key;
};

/// nullopt when the call has none.
std::optional<QueryAndKey> query_and_key(const ScriptBuilder& script) {
  const auto* query = script.tensor("query");
  const auto* key = script.tensor("key");
  if (query == nullptr || key == nullptr) return std::nullopt;
  return QueryAndKey{query->dtype, Heads(*query), Heads(*key)};
}

/// No source fixes what cuDNN and the fused kernels take for other widths, masks, dtypes or orders
/// in memory.
void exact_if_recorded(ScriptBuilder& script) {
  if (!script.was_recorded()) script.modelled();
}

/// The mask is allocated before the result.
void native_dropout(ScriptBuilder& script) {
  script.output(1);
  script.output(0);
}

/// Seed and offset of the generator, then output and statistics, then the workspace of cuDNN's
/// plan.
void cudnn_attention(ScriptBuilder& script) {
  const std::size_t count = script.output_count();
  for (std::size_t i = 2; i < count; ++i) script.output(i);
  script.outputs();
  script.temporary(kCudnnSlackBytes);
  exact_if_recorded(script);
}

/// fp32 sums of the query's gradient, and one fp32 per row. With grouped queries also the gradients
/// of key and value for every query head, which are summed afterwards.
/// A gradient whose rows are not contiguous is copied.
void cudnn_attention_backward(ScriptBuilder& script) {
  script.outputs();
  const auto* gradient = script.tensor("grad_out");
  if (gradient != nullptr && !gradient->strides.empty() && gradient->strides.back() != 1) {
    script.temporary(gradient->bytes());
  }
  const auto call = query_and_key(script);
  if (!call) return;
  const auto& [dtype, q, k] = *call;
  const auto* value = script.tensor("value");
  exact_if_recorded(script);
  std::int64_t bytes = q.all_rows() * (q.width + 1) * kFloatBytes + kCudnnSlackBytes;
  if (q.heads != k.heads) {
    const std::int64_t widths = k.width + (value == nullptr ? k.width : Heads(*value).width);
    bytes += q.batch * q.heads * k.rows * widths * program::element_bytes(dtype);
  }
  script.temporary(bytes);
}

/// Output and statistics. Where values are wider than a tile, also sums of the output, whose
/// condition was never recorded.
void efficient_attention(ScriptBuilder& script) {
  exact_if_recorded(script);
}

/// Whether a tensor of (batch, head, row, width) is one block of (batch, row, head, width).
bool heads_are_inner(program::TensorRef tensor) {
  if (tensor.sizes.size() != 4) return false;
  std::swap(tensor.sizes[1], tensor.sizes[2]);
  std::swap(tensor.strides[1], tensor.strides[2]);
  return is_contiguous(tensor);
}

/// A gradient in another order than (batch, row, head, width) is copied first.
/// The dot products of gradient and output per row (one kernel in half precision, three operators
/// in fp32), then the sums of the query's gradient in tiles of 64 x 64, with one lock each.
void efficient_attention_backward(ScriptBuilder& script) {
  constexpr std::int64_t kTile = 64;
  constexpr std::int64_t kLockBytes = 16;
  exact_if_recorded(script);
  if (const auto* gradient = script.tensor("grad_out_");
      gradient != nullptr && !heads_are_inner(*gradient)) {
    script.modelled();  // one such call was recorded
    script.temporary(gradient->bytes());
  }
  script.outputs();
  const auto call = query_and_key(script);
  if (!call) return;
  const auto& [dtype, q, k] = *call;
  const std::int64_t row_bytes = q.all_rows() * kFloatBytes;
  if (program::element_bytes(dtype) < kFloatBytes) {
    script.temporary(row_bytes);
  } else {
    const int products = script.temporary(q.all_rows() * q.width * kFloatBytes);
    const int sums = script.temporary(row_bytes);
    script.temporary(row_bytes);
    script.release(products);
    script.release(sums);
  }
  const auto tiles = [](std::int64_t n) { return ceil_div(n, kTile); };
  std::int64_t bytes = q.batch * q.heads * tiles(q.rows) * tiles(q.width) *
                       (kTile * kTile * kFloatBytes + kLockBytes);
  if (q.width > kTile) {
    // Other tile sizes. In half precision the gradients of key and value are summed in fp32.
    if (program::element_bytes(dtype) < kFloatBytes) {
      bytes += 2 * k.all_rows() * tiles(k.width) * kTile * kFloatBytes;
    }
  }
  script.temporary(bytes);
}

/// With few rows and many keys, one output is split among several blocks. The exact condition was
/// never recorded.
void flash_attention(ScriptBuilder& script) {
  script.modelled();
}

/// Flash attention's backward: one sum per row and fp32 sums of the query's gradient, both in whole
/// tiles. With grouped queries also the gradients of key and value for every query head. The order
/// was never recorded.
void flash_attention_backward(ScriptBuilder& script) {
  constexpr std::int64_t kRows = 128;
  constexpr std::int64_t kNarrow = 32;
  constexpr std::int64_t kWide = 64;
  constexpr std::int64_t kWideFrom = 128;
  script.modelled();
  script.outputs();
  const auto call = query_and_key(script);
  if (!call) return;
  const auto& [dtype, q, k] = *call;
  const std::int64_t rows = q.batch * q.heads * round_up(q.rows, kRows);
  script.temporary(rows * kFloatBytes);
  script.temporary(rows * round_up(q.width, q.width <= kWideFrom ? kNarrow : kWide) * kFloatBytes);
  if (q.heads != k.heads) {
    const std::int64_t expanded =
        q.batch * q.heads * k.rows * k.width * program::element_bytes(dtype);
    script.temporary(expanded);
    script.temporary(expanded);
  }
}

/// Fully masked rows become zeros: a mask of all elements, a mask of rows, which is a reduction of
/// the first one, and a zero. SoftMax.cu copies what is not contiguous or has another dtype; that
/// was never recorded.
void safe_softmax(ScriptBuilder& script) {
  script.outputs();
  const auto* scores = script.tensor("self");
  if (scores == nullptr || scores->sizes.empty()) return;
  const auto* result = first_output(script.op());
  const bool converts = result != nullptr && result->dtype != scores->dtype;
  if (!is_contiguous(*scores) || converts) script.modelled();
  const std::int64_t elements = scores->numel();
  const auto rank = static_cast<std::int64_t>(scores->sizes.size());
  std::int64_t dimension = script.integer("dim", -1);
  if (dimension < 0) dimension += rank;
  const std::int64_t length = scores->sizes.at(static_cast<std::size_t>(dimension));
  const program::TensorRef mask = in_row_major_order(scores->sizes, program::DType::kBool);
  script.temporary(mask.bytes());
  script.temporary(elements == 0 ? 0 : elements / length);
  script.reduce(mask, {dimension}, mask.dtype);
  script.temporary(program::element_bytes(scores->dtype));
}

/// gradient * output. Both are copied if they are not contiguous, which was never recorded.
void softmax_backward(ScriptBuilder& script) {
  script.outputs();
  const auto* gradient = script.tensor("grad_output");
  const auto* output = script.tensor("output");
  if (gradient == nullptr || output == nullptr) return;
  if (!is_contiguous(*gradient) || !is_contiguous(*output)) script.modelled();
  script.temporary(gradient->bytes());
}

}  // namespace

const std::vector<ScriptRule> kAttentionScripts = {
    {"aten::native_dropout", &native_dropout},
    {"aten::_scaled_dot_product_cudnn_attention", &cudnn_attention, ScriptRuleKind::kNeedsRecord},
    {"aten::_scaled_dot_product_cudnn_attention_backward",
     &cudnn_attention_backward,
     ScriptRuleKind::kNeedsRecord},
    {"aten::_scaled_dot_product_efficient_attention",
     &efficient_attention,
     ScriptRuleKind::kNeedsRecord},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     &efficient_attention_backward,
     ScriptRuleKind::kNeedsRecord},
    {"aten::_scaled_dot_product_flash_attention", &flash_attention, ScriptRuleKind::kEstimate},
    {"aten::_scaled_dot_product_flash_attention_backward",
     &flash_attention_backward,
     ScriptRuleKind::kEstimate},
    {"aten::_safe_softmax", &safe_softmax},
    {"aten::_softmax_backward_data", &softmax_backward},
};

}  // namespace elixir::operators
