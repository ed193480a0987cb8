// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of normalisation layers.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/AccumulateType.h>

#include "capture/meta/checks.h"
#include "capture/meta/mask.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

/// The dtype of saved statistics: CUDA accumulates in fp32, the CPU keeps the parameters' dtype.
at::ScalarType statistics_dtype(const Target& target,
                                const at::Tensor& input,
                                const at::Tensor& parameter) {
  if (is_cuda(target)) return at::toAccumulateType(input.scalar_type(), /*is_cuda=*/true);
  return parameter.defined() ? parameter.scalar_type() : input.scalar_type();
}

/// Whether parameters may be in fp32 (mixed_data_type.h): beside inputs in half precision.
bool takes_parameters_in_float(const at::Tensor& input) {
  return input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16;
}

/// Parameters have the input's dtype, or all are in fp32 beside an input in half precision.
void check_same_or_all_float(const at::Tensor& input, const std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& first : parameters) {
    if (!first.defined()) continue;
    if (first.scalar_type() != input.scalar_type()) {
      TORCH_CHECK(takes_parameters_in_float(input),
                  "mixed dtype (CPU): expect input to have scalar type of BFloat16");
      TORCH_CHECK(first.scalar_type() == at::kFloat,
                  "mixed dtype (CPU): expect parameter to have scalar type of Float");
    }
    for (const at::Tensor& parameter : parameters) check_dtype(parameter, first.scalar_type());
    return;
  }
}

/// CUDA's kernels of layer norm and group norm read parameters in the input's dtype.
void check_affine(const Target& target, const at::Tensor& input, const Call& call) {
  const at::Tensor weight = call.tensor_or_undefined("weight");
  const at::Tensor bias = call.tensor_or_undefined("bias");
  if (!is_cuda(target)) return check_same_or_all_float(input, {weight, bias});
  check_dtype(weight, input.scalar_type());
  check_dtype(bias, input.scalar_type());
}

Values layer_norm(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  check_affine(target, input, call);
  const at::Tensor weight = call.tensor_or_undefined("weight");
  const Sizes normalized = call.integers("normalized_shape");
  Sizes sizes = input.sizes().vec();
  TORCH_CHECK(normalized.size() <= sizes.size() &&
                  std::equal(normalized.rbegin(), normalized.rend(), sizes.rbegin()),
              "Given normalized_shape=",
              c10::IntArrayRef(normalized),
              ", expected input with shape ending in it, but got input of size",
              input.sizes());
  std::fill(sizes.end() - static_cast<std::ptrdiff_t>(normalized.size()), sizes.end(), 1);
  const at::ScalarType dtype = statistics_dtype(target, input, weight);
  return {contiguous_like(input), new_empty(sizes, input, dtype), new_empty(sizes, input, dtype)};
}

Values layer_norm_backward(const Target&, const Call& call) {
  return by_mask(call.flags("output_mask"),
                 {[&] { return contiguous_like(call.tensor("input")); },
                  [&] { return contiguous_like(call.tensor("weight")); },
                  [&] { return contiguous_like(call.tensor("bias")); }});
}

Values rms_norm(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  Sizes sizes = input.sizes().vec();
  const Sizes normalized = call.integers("normalized_shape");
  check_at_least(input, static_cast<std::int64_t>(normalized.size()), "rms_norm");
  std::fill(sizes.end() - static_cast<std::ptrdiff_t>(normalized.size()), sizes.end(), 1);
  return {
      contiguous_like(input),
      new_empty(sizes, input, statistics_dtype(target, input, call.tensor_or_undefined("weight")))};
}
Values rms_norm_backward(const Target&, const Call& call) {
  return by_mask(call.flags("output_mask"),
                 {[&] { return contiguous_like(call.tensor("input")); },
                  [&] { return contiguous_like(call.tensor("weight")); }});
}

/// The format in which a tensor is contiguous, if any.
std::optional<at::MemoryFormat> contiguous_format(const at::Tensor& tensor) {
  using at::MemoryFormat;
  for (const MemoryFormat format :
       {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast3d, MemoryFormat::ChannelsLast}) {
    if (tensor.is_contiguous(format)) return format;
  }
  return std::nullopt;
}
/// The CPU has kernels for contiguous formats, and otherwise uses the suggested format.
at::MemoryFormat batch_norm_format(const at::Tensor& input) {
  return contiguous_format(input).value_or(input.suggest_memory_format());
}

/// The CPU returns statistics only in training. CUDA's kernel always returns them (in evaluation
/// those it was given), and makes its output like the input.
Values batch_norm_results(const Target& target, const Call& call, bool training) {
  const at::Tensor input = call.tensor("input");
  const at::ScalarType dtype = statistics_dtype(target, input, call.tensor_or_undefined("weight"));
  const Sizes channels{training || is_cuda(target) ? input.size(1) : 0};
  const at::Tensor output =
      is_cuda(target) ? preserved_like(input)
                      : new_empty(input.sizes(), input, std::nullopt, batch_norm_format(input));
  return {output, new_empty(channels, input, dtype), new_empty(channels, input, dtype)};
}
/// CUDA's kernel reads each parameter in the input's dtype, or in fp32 beside half precision.
void check_parameters(const Target& target, const Call& call, std::vector<const char*> names) {
  const at::Tensor input = call.tensor("input");
  std::vector<at::Tensor> parameters;
  for (const char* name : names) parameters.push_back(call.tensor_or_undefined(name));
  if (!is_cuda(target)) return check_same_or_all_float(input, parameters);
  for (const at::Tensor& each : parameters) {
    if (!each.defined() || each.scalar_type() == input.scalar_type()) continue;
    check_dtype(each, takes_parameters_in_float(input) ? at::kFloat : input.scalar_type());
  }
}

Values batch_norm_without_statistics(const Target& target, const Call& call) {
  check_parameters(target, call, {"weight", "bias"});
  return batch_norm_results(target, call, call.flag("training"));
}
Values batch_norm(const Target& target, const Call& call) {
  check_parameters(target, call, {"weight", "bias", "running_mean", "running_var"});
  return batch_norm_results(target, call, call.flag("training"));
}
Values batch_norm_with_update(const Target& target, const Call& call) {
  check_parameters(target, call, {"weight", "bias", "running_mean", "running_var"});
  Values results = batch_norm_results(target, call, true);
  results.emplace_back(new_empty({0}, call.tensor("input"), at::kByte));
  return results;
}

/// CUDA keeps channels last only in training. Its other kernels make contiguous gradients.
at::MemoryFormat gradient_format_on_cuda(const at::Tensor& input, bool training) {
  const bool channels_last = input.is_contiguous(at::MemoryFormat::ChannelsLast) ||
                             input.is_contiguous(at::MemoryFormat::ChannelsLast3d);
  return training && channels_last ? input.suggest_memory_format() : at::MemoryFormat::Contiguous;
}

Values batch_norm_gradients(const Target& target, const Call& call, bool training) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor_or_undefined("weight");
  const at::ScalarType dtype = weight.defined() ? weight.scalar_type() : input.scalar_type();
  const bool kernel = contiguous_format(call.tensor("grad_out")).has_value();
  const auto format_on_cpu = kernel ? batch_norm_format(input) : input.suggest_memory_format();
  const auto format = is_cuda(target) ? gradient_format_on_cuda(input, training) : format_on_cpu;
  const auto per_channel = [&] { return new_empty({input.size(1)}, input, dtype); };
  return by_mask(call.flags("output_mask"),
                 {[&] { return new_empty(input.sizes(), input, std::nullopt, format); },
                  per_channel,
                  per_channel});
}
Values native_batch_norm_backward(const Target& target, const Call& call) {
  return batch_norm_gradients(target, call, call.flag("train"));
}
Values batch_norm_backward(const Target& target, const Call& call) {
  return batch_norm_gradients(target, call, call.flag("update"));
}

/// The CPU keeps channels last; CUDA does not.
at::MemoryFormat group_norm_format(const Target& target, const at::Tensor& input) {
  return is_cuda(target) ? at::MemoryFormat::Contiguous : input.suggest_memory_format();
}
Values group_norm(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  check_affine(target, input, call);
  const at::Tensor weight = call.tensor_or_undefined("weight");
  TORCH_CHECK(call.integer("group") > 0,
              "Expected num groups to be greater than 0, got ",
              call.integer("group"));
  TORCH_CHECK(call.integer("C") % call.integer("group") == 0,
              "Expected number of channels in input to be divisible by num_groups, but got ",
              call.integer("C"),
              " channels and num_groups=",
              call.integer("group"));
  const bool mixed = weight.defined() && weight.scalar_type() != input.scalar_type();
  const at::ScalarType dtype = mixed ? at::kFloat : input.scalar_type();
  const Sizes groups{call.integer("N"), call.integer("group")};
  return {new_empty(input.sizes(), input, std::nullopt, group_norm_format(target, input)),
          new_empty(groups, input, dtype),
          new_empty(groups, input, dtype)};
}

Values group_norm_backward(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor_or_undefined("weight");
  const auto per_channel = [&] {
    return new_empty({call.integer("C")}, weight.defined() ? weight : input);
  };
  return by_mask(call.flags("output_mask"),
                 {[&] {
                    return new_empty(
                        input.sizes(), input, std::nullopt, group_norm_format(target, input));
                  },
                  per_channel,
                  per_channel});
}

/// Statistics exist only in training. The reserve space is 0 bytes except for NHWC half precision.
/// Parameters are in fp32 for inputs in half precision, else in the input's dtype.
Values cudnn_batch_norm(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor("weight");
  const at::ScalarType of_parameters =
      takes_parameters_in_float(input) ? at::kFloat : input.scalar_type();
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    check_dtype(call.tensor_or_undefined(name), of_parameters);
  }
  const std::int64_t channels = call.flag("training") ? input.size(1) : 0;
  return {suggested_like(input),
          new_empty({channels}, weight),
          new_empty({channels}, weight),
          new_empty({0}, input, at::kByte)};
}

Values cudnn_batch_norm_backward(const Target&, const Call& call) {
  const at::Tensor weight = call.tensor("weight");
  return {suggested_like(call.tensor("input")), contiguous_like(weight), contiguous_like(weight)};
}

}  // namespace

const Rules kNormRules = {
    {"aten::_fused_rms_norm", &rms_norm},
    {"aten::_fused_rms_norm_backward", &rms_norm_backward},
    {"aten::native_layer_norm", &layer_norm},
    {"aten::native_layer_norm_backward", &layer_norm_backward},
    {"aten::native_batch_norm", &batch_norm},
    {"aten::native_batch_norm_backward", &native_batch_norm_backward},
    {"aten::native_group_norm", &group_norm},
    {"aten::native_group_norm_backward", &group_norm_backward},
    {"aten::_batch_norm_with_update", &batch_norm_with_update},
    {"aten::_native_batch_norm_legit", &batch_norm},
    {"aten::_native_batch_norm_legit.no_stats", &batch_norm_without_statistics},
    {"aten::batch_norm_backward", &batch_norm_backward},
    {"aten::cudnn_batch_norm", &cudnn_batch_norm},
    {"aten::cudnn_batch_norm_backward", &cudnn_batch_norm_backward},
};

}  // namespace elixir::capture
