// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/cuda/group_norm_kernel.cu, layer_norm_kernel.cu, Normalization.{cu,cuh}.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/units.h"
#include "operators/scratch/rules.h"

namespace elixir::operators {
namespace {

/// Inputs that are not contiguous are copied first.
void native_layer_norm(ScriptBuilder& script) {
  if (const auto* input = script.tensor("input"); input != nullptr && !is_contiguous(*input)) {
    script.temporary(input->bytes());
  }
}

void native_layer_norm_backward(ScriptBuilder& script) {
  for (const char* name : {"input", "grad_out"}) {
    const auto* tensor = script.tensor(name);
    if (tensor != nullptr && !is_contiguous(*tensor)) script.temporary(tensor->bytes());
  }
}

/// Scale and shift in fp32 for every channel of every sample.
void native_group_norm(ScriptBuilder& script) {
  script.outputs();
  const std::int64_t samples = script.integer("N", 0);
  const std::int64_t channels = script.integer("C", 0);
  if (script.tensor("weight") == nullptr && script.tensor("bias") == nullptr) return;
  script.temporary(samples * channels * kFloatBytes);
  script.temporary(samples * channels * kFloatBytes);
}

/// Sums for every channel, and three coefficients: two per group, one per channel.
void native_group_norm_backward(ScriptBuilder& script) {
  script.outputs();
  const std::int64_t samples = script.integer("N", 0);
  const std::int64_t channels = script.integer("C", 0);
  const std::int64_t groups = script.integer("group", 0);
  script.temporary(samples * channels * kFloatBytes);
  script.temporary(samples * channels * kFloatBytes);
  script.temporary(samples * groups * kFloatBytes);
  script.temporary(samples * groups * kFloatBytes);
  script.temporary(samples * channels * kFloatBytes);
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
  if (input == nullptr || !script.flag("training") || !channels_last(*input)) return;
  script.modelled();  // never recorded
  BlockSums(script, *input, kSumsEach).release();
}

/// One kernel does everything if channels are not last and the input needs a gradient. Otherwise
/// statistics that cuDNN's evaluation did not save are computed again, and the sums of every
/// channel stay until the end.
void native_batch_norm_backward(ScriptBuilder& script) {
  constexpr std::int64_t kSumsEach = 2;
  const auto* input = script.tensor("input");
  const auto* gradient = script.tensor("grad_out");
  const auto* saved = script.tensor("save_invstd");
  const program::Bools mask = script.arguments().booleans("output_mask");
  if (input == nullptr || gradient == nullptr || saved == nullptr || mask.size() != 3) return;
  if (input->sizes.size() < 2) return;
  const bool reduces = script.flag("train") || mask[1] || mask[2];
  if (reduces && mask[0] && !channels_last(*input)) return;
  const std::int64_t bytes = input->sizes[1] * kFloatBytes;
  const std::size_t parameters = script.output_count() - (mask[0] ? 1U : 0U);
  const auto parameter_outputs = [&] {
    for (std::size_t i = 0; i < parameters; ++i) script.output(i + (mask[0] ? 1U : 0U));
  };
  script.modelled();  // never recorded
  if (saved->numel() == 0) script.temporary(bytes);
  if (!reduces) return;
  if (channels_last(*input) && channels_last(*gradient)) {
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
