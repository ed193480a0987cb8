// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/cuda/Embedding.cu, EmbeddingBackwardKernel.cu; temporary storage of CUB's
// radix sort, selection and scan (CCCL of CUDA 13).
#include <algorithm>
#include <cstdint>

#include "core/units.h"
#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

constexpr std::int64_t kCubAlignment = 256;
constexpr std::int64_t kIndexBytes = 8;
constexpr std::int64_t kCubPadding = 32;  ///< tile states in front of the first tile
/// What CUB adds to the states of its tiles: one aligned counter.
constexpr std::int64_t kCubCounterBytes = kCubAlignment + (kCubAlignment - 1);

/// Radix sort of pairs of 8 bytes. What one block can sort alone needs nothing, but requests one
/// byte. One sweep: bins of eight passes, look-back of each tile, the second halves of both double
/// buffers, counters; each aligned.
std::int64_t sort_bytes(std::int64_t count) {
  constexpr std::int64_t kOneBlock = 2304;
  constexpr std::int64_t kTile = 4608;
  constexpr std::int64_t kBinsBytes = std::int64_t{8} * 256 * 8;
  constexpr std::int64_t kLookBackBytes = std::int64_t{256} * 4;
  if (count <= kOneBlock) return 1;
  return kBinsBytes + ceil_div(count, kTile) * kLookBackBytes +
         2 * round_up(count * kIndexBytes, kCubAlignment) + kCubCounterBytes;
}

/// Unique keys of 8 bytes: a state of 16 bytes for each tile.
std::int64_t unique_bytes(std::int64_t count) {
  constexpr std::int64_t kTile = 4480;
  constexpr std::int64_t kStateBytes = 16;
  return round_up((kCubPadding + ceil_div(count, kTile)) * kStateBytes, kCubAlignment) +
         kCubCounterBytes;
}

/// A scan with CUB's default policy: 128 threads with 60 bytes each, at most 30 items. The state of
/// a tile is one word of twice the sum's size. CUB has no such word for half precision: status,
/// partial sums and sums are three arrays.
std::int64_t scan_bytes(std::int64_t count, program::DType dtype) {
  constexpr std::int64_t kThreads = 128;
  constexpr std::int64_t kThreadBytes = 60;
  constexpr std::int64_t kMostItems = 30;
  constexpr std::int64_t kStatusBytes = 4;
  const std::int64_t bytes = program::element_bytes(dtype);
  const std::int64_t items = std::min(kThreadBytes / bytes, kMostItems);
  const std::int64_t states = kCubPadding + ceil_div(count, kThreads * items);
  const auto array = [&](std::int64_t each) { return round_up(states * each, kCubAlignment); };
  const bool three = dtype == program::DType::kFloat16 || dtype == program::DType::kBFloat16;
  return (three ? array(kStatusBytes) + 2 * array(bytes) : array(2 * bytes)) + kCubCounterBytes;
}

/// Indices with several dimensions are flattened, which copies those that no view can flatten.
void embedding(ScriptBuilder& script) {
  const auto* indices = script.tensor("indices");
  if (indices != nullptr && indices->sizes.size() > 1 && !is_evenly_spaced(*indices)) {
    script.temporary(indices->bytes());
  }
}

/// Bag sizes and bags of indices are allocated before the result.
void embedding_bag(ScriptBuilder& script) {
  script.modelled_beyond_32_bits();
  script.output(2);
  script.output(1);
}

/// The sorted indices and their old positions, which stay until the call ends.
void sort_indices(ScriptBuilder& script, std::int64_t count) {
  script.temporary(count * kIndexBytes);
  script.temporary(count * kIndexBytes);
  const int range = script.temporary(count * kIndexBytes);
  script.release(script.temporary(sort_bytes(count)));
  script.release(range);
}

/// embedding_backward_cuda_kernel: sums the gradients of equal indices in parts. `width` is that of
/// a row of the weight, which has `rows` rows.
void sum_by_index(ScriptBuilder& script,
                  std::int64_t count,
                  std::int64_t rows,
                  std::int64_t width,
                  program::DType dtype) {
  constexpr std::int64_t kRowsOfAPart = 10;
  constexpr std::int64_t kMostThreads = 1024;
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kBlocksWorthTwoSteps = 4;  ///< per multiprocessor
  if (count <= 0 || rows <= 0 || width <= 0) return;
  script.temporary(count * kIndexBytes);  // starts of the segments of equal indices
  script.temporary(kIndexBytes);          // number of segments
  const int keys = script.temporary(count * kIndexBytes);
  script.release(script.temporary(unique_bytes(count)));
  script.release(keys);
  const std::int64_t segments = std::min(count, rows);
  const std::int64_t parts = count / kRowsOfAPart + segments;
  script.temporary(segments * kIndexBytes);  // number of parts of each segment
  script.temporary(segments * kIndexBytes);  // starts of the parts
  script.release(script.temporary(scan_bytes(segments, program::DType::kInt64)));
  script.temporary(kIndexBytes);  // number of parts
  script.temporary(parts * kIndexBytes);
  const std::int64_t warped = round_up(width, kWarp);
  const std::int64_t block = std::min(warped, kMostThreads);
  const std::int64_t grid = ceil_div(segments * warped, block);
  if (grid < script.traits().assumed_multiprocessors() * kBlocksWorthTwoSteps && parts > grid * 4) {
    // With few segments, parts are added atomically, at least in fp32.
    script.temporary(parts * kIndexBytes);
    if (program::element_bytes(dtype) < kFloatBytes) script.temporary(rows * width * kFloatBytes);
  } else {
    script.temporary(parts * width * accumulator_bytes(dtype));
  }
}

/// The sum of `gradient`'s rows by index.
void sum_into_table(ScriptBuilder& script,
                    const program::TensorRef& indices,
                    const program::TensorRef& gradient) {
  script.modelled_beyond_32_bits();
  sort_indices(script, indices.numel());
  script.outputs();
  sum_by_index(script,
               indices.numel(),
               script.integer("num_weights", 0),
               gradient.sizes.empty() ? 1 : gradient.sizes.back(),
               gradient.dtype);
}

void embedding_dense_backward(ScriptBuilder& script) {
  constexpr std::int64_t kFewIndices = 3072;
  const auto* gradient = script.tensor("grad_output");
  const auto* indices = script.tensor("indices");
  if (gradient == nullptr || indices == nullptr) return;
  const std::int64_t count = indices->numel();
  const bool scale_by_frequency = script.flag("scale_grad_by_freq");
  if (!is_contiguous(*indices)) script.temporary(indices->bytes());
  if (!is_contiguous(*gradient)) script.temporary(gradient->bytes());
  if (count <= kFewIndices && !scale_by_frequency) return;

  if (scale_by_frequency || program::element_bytes(indices->dtype) != kIndexBytes) {
    script.modelled();
  }
  sum_into_table(script, *indices, *gradient);
}

/// For sums and means. The gradient of maxima is one indexed addition.
void embedding_bag_backward(ScriptBuilder& script) {
  constexpr std::int64_t kMax = 2;
  const auto* gradient = script.tensor("grad");
  const auto* indices = script.tensor("indices");
  if (gradient == nullptr || indices == nullptr || gradient->sizes.size() != 2) return;
  if (!is_contiguous(*gradient)) script.temporary(gradient->bytes());
  if (script.integer("mode", 0) == kMax || script.flag("scale_grad_by_freq") ||
      program::element_bytes(indices->dtype) != kIndexBytes) {
    script.modelled();
  }
  if (script.integer("mode", 0) == kMax) return;
  sum_into_table(script, *indices, *gradient);
}

/// An input of another dtype than the result's is copied. Scans of one row use CUB: random calls in
/// half precision and one of bools gave the formula; nobody has compared it in other dtypes. What
/// scans of several rows take depends on their number and length.
void cumsum(ScriptBuilder& script) {
  script.outputs();
  const auto* input = script.tensor("self");
  if (input == nullptr || input->sizes.empty()) return;
  const auto* result = first_output(script.op());
  if (result == nullptr) return;
  if (!script.was_recorded()) script.modelled();
  if (result->dtype != input->dtype) script.temporary(converted(*input, result->dtype).bytes());
  const auto rank = static_cast<std::int64_t>(input->sizes.size());
  std::int64_t dimension = script.integer("dim", 0);
  if (dimension < 0) dimension += rank;
  if (dimension >= rank || !is_contiguous(*input) ||
      input->sizes[static_cast<std::size_t>(dimension)] != input->numel()) {
    return;
  }
  script.temporary(scan_bytes(input->numel(), result->dtype));
}

}  // namespace

const std::vector<ScriptRule> kEmbeddingScripts = {
    {"aten::embedding", &embedding},
    {"aten::_embedding_bag", &embedding_bag},
    {"aten::_embedding_bag_backward", &embedding_bag_backward},
    {"aten::embedding_dense_backward", &embedding_dense_backward},
    {"aten::cumsum", &cumsum, ScriptRuleKind::kNeedsRecord},
};

}  // namespace elixir::operators
