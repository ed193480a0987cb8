// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/cuda/group_norm_kernel.cu, layer_norm_kernel.cu, Normalization.{cu,cuh}.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "core/units.h"
#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

/// A copy of what is not contiguous, which stays until the call ends.
void copy_unless_contiguous(ScriptBuilder& script, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto* tensor = script.tensor(name);
    if (tensor != nullptr && !is_contiguous(*tensor)) script.temporary(tensor->bytes());
  }
}

void native_layer_norm(ScriptBuilder& script) {
  copy_unless_contiguous(script, {"input", "weight", "bias"});
}

/// Many narrow rows: the gradients of weight and bias are sums of blocks of rows, one kernel each.
/// What was allocated for them is replaced by the sums.
void sum_blocks_of_rows(ScriptBuilder& script,
                        const program::TensorRef& weight,
                        std::int64_t rows,
                        std::size_t first) {
  constexpr std::int64_t kRowsOfABlock = 32;
  const program::TensorRef blocks =
      in_row_major_order({ceil_div(rows, kRowsOfABlock), weight.numel()}, weight.dtype);
  std::vector<int> replaced;
  std::vector<int> sums;
  const std::size_t count = script.output_count();
  for (std::size_t i = first; i < count; ++i) replaced.push_back(script.temporary(weight.bytes()));
  for (std::size_t i = first; i < count; ++i) sums.push_back(script.temporary(blocks.bytes()));
  for (std::size_t i = first; i < count; ++i) {
    script.output(i);
    script.reduce(blocks, {0}, weight.dtype);
    script.release(replaced.at(i - first));
  }
}

/// Gradients that are not contiguous are copied after the results are allocated.
void native_layer_norm_backward(ScriptBuilder& script) {
  constexpr std::int64_t kManyRows = std::int64_t{64} * 1024;
  constexpr std::int64_t kColumnsOfABlock = 32;
  const auto* input = script.tensor("input");
  const auto* gradient = script.tensor("grad_out");
  const auto* weight = script.tensor("weight");
  if (weight == nullptr) weight = script.tensor("bias");
  const program::Bools mask = script.arguments().booleans("output_mask");
  if (input == nullptr || gradient == nullptr) return;
  copy_unless_contiguous(script, {"input", "weight", "bias"});
  const bool sums = weight != nullptr && mask.size() == 3 && (mask[1] || mask[2]);
  if (sums && weight->numel() > 0 && input->numel() / weight->numel() > kManyRows) {
    script.modelled();  // one such call was recorded
    if (mask[0]) script.output(0);
    if (weight->numel() / kColumnsOfABlock < script.traits().assumed_multiprocessors() / 2) {
      const std::int64_t rows = input->numel() / weight->numel();
      sum_blocks_of_rows(script, *weight, rows, mask[0] ? 1 : 0);
    }
  }
  script.outputs();
  copy_unless_contiguous(script, {"grad_out"});
}

/// Scale and shift, at least in fp32, for every channel of every sample that has several elements.
void native_group_norm(ScriptBuilder& script) {
  script.outputs();
  const auto* input = script.tensor("input");
  const std::int64_t samples = script.integer("N", 0);
  const std::int64_t channels = script.integer("C", 0);
  if (input == nullptr || script.integer("HxW", 0) == 1) return;
  if (script.tensor("weight") == nullptr && script.tensor("bias") == nullptr) return;
  const std::int64_t bytes = samples * channels * accumulator_bytes(input->dtype);
  script.temporary(bytes);
  script.temporary(bytes);
}

/// Sums for every channel. For the input's gradient, also coefficients: two per group, and with a
/// weight one per channel.
void native_group_norm_backward(ScriptBuilder& script) {
  script.outputs();
  const auto* input = script.tensor("input");
  const auto* gradient = script.tensor("grad_out");
  const program::Bools mask = script.arguments().booleans("output_mask");
  if (input == nullptr || gradient == nullptr) return;
  // Other kernels, which were recorded once, without a weight.
  const bool one_element = script.integer("HxW", 0) == 1;
  if (one_element || !is_contiguous(*input) || !is_contiguous(*gradient)) script.modelled();
  const std::int64_t each = accumulator_bytes(input->dtype);
  const std::int64_t channels = script.integer("N", 0) * script.integer("C", 0) * each;
  const std::int64_t groups = script.integer("N", 0) * script.integer("group", 0) * each;
  script.temporary(channels);
  script.temporary(channels);
  if (!mask.empty() && !mask[0]) return;
  script.temporary(groups);
  script.temporary(groups);
  if (script.tensor("weight") != nullptr && !one_element) script.temporary(channels);
}

// --- Batch norm. With channels last, blocks exchange partial sums through scratch memory ---------

/// Whether channels are innermost and all other dimensions are in order.
bool channels_last(const program::TensorRef& tensor) {
  std::int64_t expected = 1;
  const auto fits = [&](std::size_t dimension) {
    const bool fit = tensor.sizes[dimension] == 1 || tensor.strides[dimension] == expected;
    expected *= tensor.sizes[dimension];
    return fit;
  };
  if (tensor.sizes.size() < 2 || tensor.sizes.size() == 3) return false;
  bool last = fits(1);
  for (std::size_t i = tensor.sizes.size(); i-- > 2;) last = fits(i) && last;
  return fits(0) && last;
}

/// Whether LibTorch's kernels for channels last run on a tensor in row-major order.
bool is_row_major_with_inner_channels(const program::TensorRef& tensor) {
  return tensor.sizes.size() >= 2 && is_contiguous(tensor) && tensor.strides[1] == 1;
}

bool has_inner_channels(const program::TensorRef& tensor) {
  return channels_last(tensor) || is_row_major_with_inner_channels(tensor);
}

/// Whether the dimensions behind the channels can be viewed as one. If not, they are copied.
bool is_one_row_per_channel(const program::TensorRef& tensor) {
  std::int64_t expected = 0;
  bool any = false;
  for (std::size_t i = tensor.sizes.size(); i-- > 2;) {
    if (tensor.sizes[i] == 1) continue;
    if (any && tensor.strides[i] != expected) return false;
    any = true;
    expected = tensor.strides[i] * tensor.sizes[i];
  }
  return true;
}

bool is_beyond_32_bits(const program::TensorRef& tensor) {
  return tensor.numel() > std::numeric_limits<std::int32_t>::max();
}

/// `each` sums for every channel and block, and one counter per column of blocks. Nothing if one
/// block is enough. Source: Normalization.cuh, flexible_launch_configs.
class BlockSums {
 public:
  BlockSums(ScriptBuilder& script, const program::TensorRef& input, std::int64_t each)
      : script_(script) {
    constexpr std::int64_t kThreads = 512;
    constexpr std::int64_t kColumns = 32;
    constexpr std::int64_t kEach = 16;
    constexpr std::int64_t kMostRows = 128;
    constexpr std::int64_t kFewestRows = 8;
    constexpr std::int64_t kCounterBytes = 4;
    const std::int64_t channels = input.sizes[1];
    if (input.numel() == 0) return;
    const std::int64_t reduced = input.numel() / channels;
    std::int64_t columns = std::min(power_of_two_up_to(channels), kColumns);
    const std::int64_t rows =
        std::min(power_of_two_up_to(ceil_div(reduced, kEach)), kThreads / columns);
    if (columns * rows != kThreads)
      columns = std::min(power_of_two_up_to(channels), kThreads / rows);
    const std::int64_t blocks = std::min(ceil_div(reduced, rows * kEach), kMostRows);
    if (blocks < kFewestRows) return;
    sums_ = script.temporary(each * channels * blocks * kFloatBytes);
    counters_ = script.temporary(ceil_div(channels, columns) * kCounterBytes);
  }
  void release() const {
    script_.release(counters_);
    script_.release(sums_);
  }

 private:
  ScriptBuilder& script_;
  int sums_ = -1;
  int counters_ = -1;
};

void native_batch_norm(ScriptBuilder& script) {
  constexpr std::int64_t kSumsEach = 4;
  script.outputs();
  const auto* input = script.tensor("input");
  if (input == nullptr || input->sizes.size() < 2) return;
  const bool training = script.flag("training");
  if (is_beyond_32_bits(*input)) script.modelled();
  if (is_contiguous(*input) && !is_row_major_with_inner_channels(*input)) return;
  if (has_inner_channels(*input)) {
    constexpr std::size_t kImages = 4;  // of volumes, LibTorch's versions differ
    if (training || (!is_contiguous(*input) && input->sizes.size() > kImages)) script.modelled();
    if (training) BlockSums(script, *input, kSumsEach).release();
    return;
  }
  // Another order. Statistics of the batch are a reduction in fp32, of which one call was recorded.
  if (training) {
    script.modelled();
    if (program::element_bytes(input->dtype) < kFloatBytes) {
      script.release(script.temporary(input->numel() * kFloatBytes));
    }
  }
  // A missing weight or bias becomes a number.
  for (const char* name : {"weight", "bias"}) {
    if (script.tensor(name) == nullptr) script.temporary(accumulator_bytes(input->dtype));
  }
}

/// One kernel does everything if channels are not last and the input needs a gradient. It reads one
/// row per channel; what is not such a row is copied. Otherwise statistics that cuDNN's evaluation
/// did not save are computed again, and the sums of every channel stay until the end.
void native_batch_norm_backward(ScriptBuilder& script) {
  constexpr std::int64_t kSumsEach = 2;
  const auto* input = script.tensor("input");
  const auto* gradient = script.tensor("grad_out");
  const auto* saved = script.tensor("save_invstd");
  const program::Bools mask = script.arguments().booleans("output_mask");
  if (input == nullptr || gradient == nullptr || saved == nullptr || mask.size() != 3) return;
  if (input->sizes.size() < 2) return;
  const bool reduces = script.flag("train") || mask[1] || mask[2];
  if (is_beyond_32_bits(*input)) script.modelled();
  if (reduces && mask[0] && !has_inner_channels(*input)) {
    for (const auto* tensor : {input, gradient}) {
      if (!is_one_row_per_channel(*tensor)) script.temporary(tensor->bytes());
    }
    return;
  }
  const std::int64_t bytes = input->sizes[1] * kFloatBytes;
  const std::size_t parameters = script.output_count() - (mask[0] ? 1U : 0U);
  const auto parameter_outputs = [&] {
    for (std::size_t i = 0; i < parameters; ++i) script.output(i + (mask[0] ? 1U : 0U));
  };
  script.modelled();  // never recorded
  if (saved->numel() == 0) script.temporary(bytes);
  if (!reduces) return;
  if (has_inner_channels(*input) && has_inner_channels(*gradient)) {
    script.temporary(bytes);
    script.temporary(bytes);
    parameter_outputs();
    BlockSums(script, *input, kSumsEach).release();
  } else if (mask[0]) {
    script.temporary(bytes);
    script.temporary(bytes);
    parameter_outputs();
  }
}

}  // namespace

const std::vector<ScriptRule> kNormScripts = {
    {"aten::native_batch_norm", &native_batch_norm},
    {"aten::native_batch_norm_backward", &native_batch_norm_backward},
    {"aten::native_layer_norm", &native_layer_norm},
    {"aten::native_layer_norm_backward", &native_layer_norm_backward},
    {"aten::native_group_norm", &native_group_norm},
    {"aten::native_group_norm_backward", &native_group_norm_backward},
};

}  // namespace elixir::operators
