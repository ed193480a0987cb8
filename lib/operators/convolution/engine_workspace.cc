// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/engine_workspace.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "operators/convolution/memory_format.h"
#include "operators/scratch/script_builder.h"

namespace elixir::operators {
namespace {

using program::DType;

// Types of knobs, numbered as in cudnnBackendKnobType_t.
constexpr int kTile = 2, kWithoutSplit = 25, kClusterRows = 27, kClusterColumns = 28;

/// Rows and columns of one tile of the result, by the value of the tile's knob. Inferred from
/// workspaces: all values with which at least one engine splits tiles.
const std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> kTiles = {
    {0, {128, 128}},
    {1, {128, 64}},
    {2, {128, 256}},
    {3, {256, 128}},
    {4, {256, 64}},
    {5, {64, 64}},
    {6, {128, 256}},
    {7, {64, 128}},
    {8, {64, 32}},
    {9, {64, 256}},
    {16, {256, 256}},
    {18, {64, 192}},
    {19, {256, 128}},
    {20, {192, 128}},
};

/// A tile counter with its alignment.
constexpr std::int64_t kCounterBytes = 131;
/// Counters and alignment where tiles are split; a counter more where full waves come first.
constexpr std::int64_t kSplitBytes = 159, kWordBytes = 4;

std::optional<std::int64_t> knob(const ConvolutionEngine& engine, int type) {
  for (const EngineKnob& knob : engine.knobs) {
    if (knob.type == type) return knob.value;
  }
  return std::nullopt;
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

std::int64_t product_from(const std::vector<std::int64_t>& sizes, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < sizes.size(); ++i) product *= sizes[i];
  return product;
}

/// The matrix product that a pass is, for each group: rows × columns of the result, and how many
/// products each element adds up.
struct Product {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

Product product_of(const ConvolutionQuery& query) {
  const std::int64_t filters = query.filter[0] / query.groups, channels = query.filter[1];
  const std::int64_t taps = product_from(query.filter, 2);
  const std::int64_t batch = query.input[0];
  const std::int64_t inputs = batch * product_from(query.input, 2);
  const std::int64_t outputs = batch * product_from(query.output(), 2);
  switch (query.pass) {
    case ConvolutionPass::kInputGradient:
      return {inputs, channels, filters * taps};
    case ConvolutionPass::kFilterGradient:
      return {filters, channels * taps, outputs};
    case ConvolutionPass::kForward:
      break;
  }
  return {outputs, filters, channels * taps};
}

/// Clusters of so many multiprocessors that run at once. A cluster lies in one group of
/// multiprocessors (GPC), so that large ones leave some idle: measured on an H100.
std::int64_t clusters_at_once(std::int64_t cluster, int multiprocessors) {
  constexpr int kHopper = 132;
  static const std::map<std::int64_t, std::int64_t> kOnHopper = {
      {3, 39}, {4, 30}, {5, 22}, {6, 17}, {7, 15}, {8, 15}, {9, 13}, {10, 12}, {12, 10}, {16, 7}};
  if (multiprocessors == kHopper) {
    const auto found = kOnHopper.find(cluster);
    if (found != kOnHopper.end()) return found->second;
  }
  return multiprocessors / cluster;
}

/// An engine that shares the tiles that are left after the last full wave (stream-K). Clusters of
/// multiprocessors take clusters of tiles.
struct SplitTiles {
  std::int64_t tile_bytes = 0;   ///< in fp32
  std::int64_t clusters = 0;     ///< of tiles
  std::int64_t cluster = 1;      ///< tiles of each
  std::int64_t usual_limit = 1;  ///< of parts of a tile

  /// What they take, with so many clusters at once and at most `limit` parts of a tile.
  [[nodiscard]] std::int64_t bytes(std::int64_t at_once, std::int64_t limit) const {
    if (at_once < 1) return 0;
    const std::int64_t left = clusters < at_once ? clusters : clusters % at_once;
    const std::int64_t parts = left == 0 ? 1 : std::min(at_once / left, limit);
    if (parts < 2) return clusters > 2 * at_once ? kCounterBytes : 0;
    std::int64_t counters = 0;
    for (std::int64_t pairs = divided_up(parts, 2);; pairs = divided_up(pairs, 2)) {
      counters += pairs;
      if (pairs == 1) break;
    }
    const std::int64_t tiles = left * cluster;
    return tiles * parts * tile_bytes + kSplitBytes + kWordBytes * tiles * counters +
           (clusters / at_once >= 2 ? kWordBytes : 0);
  }
};

/// nullopt for an engine without these tiles.
std::optional<SplitTiles> split_tiles(const ConvolutionQuery& query,
                                      const ConvolutionEngine& engine) {
  const auto tile = knob(engine, kTile);
  const auto rows = knob(engine, kClusterRows), columns = knob(engine, kClusterColumns);
  const auto without = knob(engine, kWithoutSplit);
  if (!tile || !rows || !columns || !without || *rows < 1 || *columns < 1) return std::nullopt;
  const auto sizes = kTiles.find(*tile);
  if (sizes == kTiles.end()) return std::nullopt;
  const auto [tile_rows, tile_columns] = sizes->second;
  const Product product = product_of(query);
  // A part adds up at least so many products (fitted).
  constexpr std::int64_t kLeastDepth = 512, kLeastDepthOfHalf = 2048;
  const std::int64_t least = query.dtype == DType::kFloat32 ? kLeastDepth : kLeastDepthOfHalf;
  SplitTiles tiles;
  tiles.tile_bytes = tile_rows * tile_columns * kFloatBytes;
  tiles.clusters = divided_up(divided_up(product.rows, tile_rows), *rows) *
                   divided_up(divided_up(product.columns, tile_columns), *columns) * query.groups;
  tiles.cluster = *rows * *columns;
  tiles.usual_limit = *without == 0 ? std::max<std::int64_t>(1, product.depth / least) : 1;
  return tiles;
}

/// What the engine takes beside split tiles, if it splits them into at most `limit` parts: the rest
/// of what cuDNN says for 1, 2, … 18 multiprocessors. nullopt when that is not the same number for
/// all.
std::optional<std::int64_t> rest_with(const SplitTiles& tiles,
                                      std::int64_t limit,
                                      const std::vector<std::int64_t>& known) {
  const auto count = static_cast<std::int64_t>(known.size());
  const std::int64_t rest = known.back() - tiles.bytes(count / tiles.cluster, limit);
  if (rest < 0) return std::nullopt;
  for (std::int64_t number = tiles.cluster; number <= count; ++number) {
    const std::int64_t bytes = tiles.bytes(number / tiles.cluster, limit);
    if (known[static_cast<std::size_t>(number - 1)] != rest + bytes) return std::nullopt;
  }
  return rest;
}

/// How often the engine splits a tile it does not say. So every limit is tried that explains the
/// workspaces on few multiprocessors; of several, the one that is nearest to what is usual.
std::int64_t on_larger_gpu(const ConvolutionEngine& engine,
                           const SplitTiles& tiles,
                           int multiprocessors) {
  const std::vector<std::int64_t>& known = engine.bytes_by_multiprocessors;
  const auto count = static_cast<std::int64_t>(known.size());
  const std::int64_t at_once = clusters_at_once(tiles.cluster, multiprocessors);
  if (tiles.cluster > count) return engine.bytes;
  std::int64_t limit = 0;
  for (std::int64_t possible = 1; possible <= count; ++possible) {
    if (!rest_with(tiles, possible, known)) continue;
    // As many parts as there are multiprocessors: no limit is seen.
    const std::int64_t reaches = possible == count ? multiprocessors : possible;
    const std::int64_t nearest = std::clamp(tiles.usual_limit, possible, reaches);
    const bool nearer = std::abs(nearest - tiles.usual_limit) < std::abs(limit - tiles.usual_limit);
    if (limit == 0 || nearer) limit = nearest;
  }
  if (limit > 0) {
    return *rest_with(tiles, std::min(limit, count), known) + tiles.bytes(at_once, limit);
  }
  const auto [least, most] = std::minmax_element(known.begin() + tiles.cluster - 1, known.end());
  if (*most - *least <= kCounterBytes) {  // never splits
    return known.back() - tiles.bytes(count / tiles.cluster, 1) + tiles.bytes(at_once, 1);
  }
  return *least + multiprocessors * tiles.tile_bytes;  // not understood: the most
}

/// cuBLASLt's kernels for Hopper keep descriptors of their operands, where rows start at multiples
/// of 16 bytes. Which kernel it takes it does not say without a GPU; most do.
std::int64_t cublaslt_bytes(const ConvolutionQuery& query) {
  constexpr std::int64_t kThreeOperands = 400, kTwoOperands = 272, kRowBytes = 16;
  const std::int64_t pixels = product_from(query.input, 2);
  if (pixels * program::element_bytes(query.dtype) % kRowBytes != 0) return 0;
  if (query.dtype == DType::kFloat32) return kThreeOperands;
  return query.pass == ConvolutionPass::kFilterGradient ? 0 : kTwoOperands;
}

/// Depthwise gradients of filters in half precision, channels last: on a GPU cuDNN compiles a
/// kernel of its own for them, which it does not offer without one. Each image's 8 partial sums are
/// kept in fp32, unless there are few pixels.
std::optional<std::int64_t> compiled_depthwise_bytes(const ConvolutionQuery& query) {
  constexpr std::int64_t kPartialSums = 8, kFewPixels = 512;
  const bool half = query.dtype == DType::kFloat16 || query.dtype == DType::kBFloat16;
  const bool depthwise = query.groups == query.input[1] && query.groups == query.filter[0];
  if (!half || !depthwise || !query.channels_last || query.input.size() != kImageRank ||
      query.pass != ConvolutionPass::kFilterGradient) {
    return std::nullopt;
  }
  const std::int64_t batch = query.input[0];
  if (batch * product_from(query.output(), 2) < kFewPixels) return 0;
  return batch * kPartialSums * kFloatBytes * product_from(query.filter, 0);
}

}  // namespace

std::int64_t workspace_on(const ConvolutionQuery& query,
                          const ConvolutionEngine& engine,
                          int multiprocessors) {
  if (const auto bytes = compiled_depthwise_bytes(query)) return *bytes;
  const bool is_cublaslt = engine.knobs.size() == 1 && engine.knobs[0].type == kWithoutSplit;
  if (is_cublaslt && engine.knobs[0].value >= 1) return engine.bytes + cublaslt_bytes(query);
  if (engine.bytes_by_multiprocessors.empty()) return engine.bytes;
  const auto tiles = split_tiles(query, engine);
  return tiles ? on_larger_gpu(engine, *tiles, multiprocessors) : engine.bytes;
}

}  // namespace elixir::operators
