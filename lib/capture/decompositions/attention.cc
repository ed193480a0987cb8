// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Decides which attention a target runs. If no row matches, LibTorch's composite runs the math
// path.
#include <cmath>
#include <limits>
#include <optional>

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

#include "capture/decompositions/decompositions.h"

namespace elixir::capture {
namespace {

using program::Target;

/// The arguments of a call of scaled_dot_product_attention.
struct Attention {
  at::Tensor query, key, value;
  std::optional<at::Tensor> mask;
  double dropout;
  bool causal;
  std::optional<double> scale;
  bool grouped;

  explicit Attention(const Call& call)
      : query(call.tensor("query")),
        key(call.tensor("key")),
        value(call.tensor("value")),
        dropout(call.number("dropout_p")),
        causal(call.flag("is_causal")),
        grouped(call.flag("enable_gqa")) {
    if (call.tensor_or_undefined("attn_mask").defined()) mask = call.tensor("attn_mask");
    scale = call.optional_number("scale");
    check();
    // LibTorch divides by these sizes.
    TORCH_CHECK(!grouped || query.dim() < 3 || key.dim() < 3 || value.dim() < 3 ||
                    (key.size(-3) > 0 && value.size(-3) > 0),
                "Number of heads in key and value must divide the number of heads in query, got ",
                key.sizes(),
                " and ",
                value.sizes());
  }

  /// validate_sdpa_input
  void check() const {
    TORCH_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
                "Expected query, key, and value to have the same dtype, but got query.dtype: ",
                query.dtype(),
                " key.dtype: ",
                key.dtype(),
                " and value.dtype: ",
                value.dtype(),
                " instead");
    TORCH_CHECK(
        query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
        "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: ",
        query.dim(),
        " key.dim: ",
        key.dim(),
        " and value.dim: ",
        value.dim(),
        " instead");
    TORCH_CHECK(!mask || mask->dtype() == at::kBool || mask->dtype() == at::kFloat ||
                    mask->dtype() == query.dtype(),
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                "attn_mask.dtype: ",
                mask->dtype(),
                " and query.dtype: ",
                query.dtype(),
                " instead");
  }

  [[nodiscard]] bool batches_match() const {
    return query.size(0) == key.size(0) && key.size(0) == value.size(0);
  }
  [[nodiscard]] bool heads_match() const {
    return key.size(1) == value.size(1) &&
           (grouped ? key.size(1) > 0 && query.size(1) % key.size(1) == 0
                    : query.size(1) == key.size(1));
  }
  /// There is no mask, or a mask without gradient that broadcasts in two or four dimensions.
  [[nodiscard]] bool mask_fits() const {
    if (!mask) return true;
    if (mask->requires_grad() || (mask->dim() != 2 && mask->dim() != 4)) return false;
    const auto fits = [&](std::int64_t dimension, std::int64_t full) {
      return mask->size(dimension) == 1 || mask->size(dimension) == full;
    };
    return fits(-2, query.size(2)) && fits(-1, key.size(2)) &&
           (mask->dim() == 2 || (fits(0, query.size(0)) && fits(1, query.size(1))));
  }
  [[nodiscard]] bool last_strides_are_one() const {
    return query.stride(3) == 1 && key.stride(3) == 1 && value.stride(3) == 1;
  }
  [[nodiscard]] bool four_dimensional() const {
    return query.dim() == 4 && key.dim() == 4 && value.dim() == 4;
  }
  [[nodiscard]] bool needs_gradient() const {
    return c10::GradMode::is_enabled() &&
           (query.requires_grad() || key.requires_grad() || value.requires_grad());
  }
  /// The mask as an addend. As in the composite, a boolean mask becomes 0 and `masked`.
  [[nodiscard]] std::optional<at::Tensor> addend(double masked) const {
    if (!mask || mask->scalar_type() != at::kBool) return mask;
    const auto options = at::TensorOptions().dtype(query.scalar_type()).device(mask->device());
    return at::where(*mask, 0.0, at::scalar_tensor(masked, options));
  }
};

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

}  // namespace

bool takes_flash_for_cpu(const Target&, const Call& call) {
  const Attention a(call);
  if (a.dropout > 0.0 || !a.four_dimensional() || !a.batches_match() || !a.heads_match()) {
    return false;
  }
  if (a.query.size(3) != a.key.size(3) || a.query.size(3) != a.value.size(3)) return false;
  if (a.query.size(2) == 0 || a.key.size(2) == 0 || !a.last_strides_are_one()) return false;
  return a.mask_fits() && at::isFloatingType(a.query.scalar_type());
}

Values call_flash_for_cpu(const Target&, const Call& call) {
  const Attention a(call);
  return {std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
      a.query, a.key, a.value, a.dropout, a.causal, a.addend(kMinusInfinity), a.scale))};
}

namespace {

/// The conditions of all fused CUDA backends. Models traced by transformers pass a mask expanded
/// with stride 0 in its last dimension. All backends refuse it, and the math path runs.
bool fused_but_for_mask(const Attention& a) {
  return a.four_dimensional() && a.query.size(2) > 0 && a.key.size(2) > 0 &&
         a.query.size(3) == a.key.size(3) && a.last_strides_are_one() && a.batches_match() &&
         a.heads_match();
}

bool fused_on_cuda(const Attention& a) {
  return fused_but_for_mask(a) && (!a.mask || a.mask->stride(-1) == 1);
}

constexpr int kAmpere = 80;
constexpr int kHopper = 90;

/// Where cuDNN comes before the others (check_prefer_cudnn_attention): compute capability 9.0,
/// 10.0, 10.3. Elsewhere it comes after the math path, which accepts everything.
bool prefers_cudnn(const Target& target) {
  return target.sm == kHopper || target.sm == 100 || target.sm == 103;
}

/// check_cudnn_tensor_shapes
std::int64_t widest_for_cudnn(const Target& target, const Attention& a) {
  constexpr std::int64_t kWidest = 128;
  constexpr std::int64_t kWidestOnHopper = 256;
  constexpr std::int64_t kWidestOnBlackwell = 192;  // with values of 128
  if (target.sm == kHopper) return kWidestOnHopper;
  const bool unequal = a.query.size(3) == kWidestOnBlackwell && a.value.size(3) == kWidest;
  return target.sm / 10 == 10 && unequal ? kWidestOnBlackwell : kWidest;
}

}  // namespace

bool takes_cudnn_attention(const Target& target, const Call& call) {
  constexpr std::int64_t kWidthMultiple = 8;
  if (!prefers_cudnn(target)) return false;
  const Attention a(call);
  if (!fused_on_cuda(a)) return false;
  const std::int64_t widest = widest_for_cudnn(target, a);
  const at::ScalarType dtype = a.query.scalar_type();
  if (dtype != at::kHalf && dtype != at::kBFloat16) return false;
  return true && a.query.size(3) % kWidthMultiple == 0 && a.query.size(3) <= widest &&
         a.value.size(3) % kWidthMultiple == 0 && a.value.size(3) <= widest && a.key.size(2) != 1 &&
         !(a.query.size(2) == 1 && a.dropout > 0) && a.mask_fits() && !(a.mask && a.causal);
}

Values call_cudnn_attention(const Target&, const Call& call) {
  constexpr double kMostNegativeHalf = -65504.0;
  const Attention a(call);
  return {std::get<0>(at::_scaled_dot_product_cudnn_attention(a.query,
                                                              a.key,
                                                              a.value,
                                                              a.addend(kMostNegativeHalf),
                                                              a.needs_gradient(),
                                                              a.dropout,
                                                              a.causal,
                                                              /*return_debug_mask=*/false,
                                                              a.scale))};
}

namespace {

/// Wide heads that flash attention cannot train on GPUs with little shared memory
/// (check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120).
bool too_wide_to_train(const Target& target, const Attention& a) {
  constexpr std::int64_t kWide = 192;
  constexpr std::int64_t kWidestWithDropout = 224;
  const bool small = (target.sm >= 86 && target.sm <= 89) || target.sm == 120 || target.sm == 121;
  const std::int64_t width = a.query.size(3);
  return small && a.needs_gradient() && width > kWide &&
         (width <= kWidestWithDropout || a.dropout > 0);
}

}  // namespace

// Where cuDNN comes first, flash attention gets what cuDNN refuses: widths that are not multiples
// of 8, single keys, and single queries with dropout.
bool takes_flash_attention(const Target& target, const Call& call) {
  constexpr std::int64_t kWidest = 256;
  if (target.sm < kAmpere) return false;
  const Attention a(call);
  const at::ScalarType dtype = a.query.scalar_type();
  if (dtype != at::kHalf && dtype != at::kBFloat16) return false;
  if (a.four_dimensional() && too_wide_to_train(target, a)) return false;
  return fused_on_cuda(a) && !a.mask && a.query.size(3) <= kWidest &&
         a.value.size(3) == a.query.size(3) && !(a.causal && a.query.size(2) != a.key.size(2));
}

Values call_flash_attention(const Target&, const Call& call) {
  constexpr std::int64_t kWidthMultiple = 8;
  const Attention a(call);
  const std::int64_t width = a.query.size(3);
  const auto padded = [&](const at::Tensor& tensor) {
    const std::int64_t rest = width % kWidthMultiple;
    return rest == 0 ? tensor : at::pad(tensor, {0, kWidthMultiple - rest});
  };
  const at::Tensor query = padded(a.query);
  const at::Tensor key = padded(a.key);
  const at::Tensor value = padded(a.value);
  const double scale = a.scale.value_or(1.0 / std::sqrt(static_cast<double>(width)));
  // All results live until the padding is cut off, as in LibTorch.
  const auto results = at::_scaled_dot_product_flash_attention(
      query, key, value, a.dropout, a.causal, /*return_debug_mask=*/false, scale);
  const at::Tensor& output = std::get<0>(results);
  return {output.size(-1) == width ? output : output.slice(-1, 0, width)};
}

namespace {

/// All conditions except the layout of the mask.
bool efficient_but_for_mask(const Target& target, const Attention& a) {
  constexpr std::int64_t kAlignmentBytes = 16;
  const bool older = target.sm < kAmpere;  // no bf16, and no tensor cores for fp32
  if (older && a.query.scalar_type() == at::kBFloat16) return false;
  const std::int64_t alignment =
      older && a.query.scalar_type() == at::kFloat ? 1 : kAlignmentBytes / a.query.element_size();
  // Only cuDNN and flash attention support grouped queries.
  return fused_but_for_mask(a) && a.query.size(1) == a.key.size(1) &&
         a.query.scalar_type() != at::kDouble && a.query.size(3) % alignment == 0 &&
         a.value.size(3) % alignment == 0 && !(a.mask && a.causal);
}

}  // namespace

bool takes_efficient_attention(const Target& target, const Call& call) {
  const Attention a(call);
  return fused_on_cuda(a) && efficient_but_for_mask(target, a);
}

bool only_mask_is_expanded(const Target& target, const Call& call) {
  const Attention a(call);
  return a.mask && a.mask->dim() > 0 && a.mask->stride(-1) == 0 && a.mask->size(-1) > 1 &&
         efficient_but_for_mask(target, a);
}

Values call_efficient_attention(const Target&, const Call& call) {
  constexpr std::int64_t kRowMultiple = 8;
  const Attention a(call);
  std::optional<at::Tensor> mask = a.addend(kMinusInfinity);
  if (mask) {  // rows aligned to 8 elements, then expanded to (batch, head, query, key)
    bool aligned = mask->stride(-1) == 1;
    for (std::int64_t d = 0; d + 1 < mask->dim(); ++d) {
      aligned = aligned && mask->stride(d) % kRowMultiple == 0;
    }
    const std::int64_t last = mask->size(-1);
    if (!aligned) mask = at::pad(*mask, {0, kRowMultiple - last % kRowMultiple}).slice(-1, 0, last);
    mask = mask->expand({a.query.size(0), a.query.size(1), a.query.size(2), a.key.size(2)});
  }
  return {std::get<0>(at::_scaled_dot_product_efficient_attention(
      a.query, a.key, a.value, mask, a.needs_gradient(), a.dropout, a.causal, a.scale))};
}

}  // namespace elixir::capture
