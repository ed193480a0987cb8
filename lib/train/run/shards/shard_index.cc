// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/shards/shard_index.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::train {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 53;

/// Their product. Throws where it is too large.
std::int64_t count_elements(const std::vector<std::int64_t>& sizes, const JsonCursor& shape) {
  if (std::count(sizes.begin(), sizes.end(), 0) != 0) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMostElements) {
      throw shape.error(ErrorCode::kBadCheckpoint, "shape has too many elements");
    }
  }
  return elements;
}

/// Whether every element has a place of its own, without holes.
bool is_dense(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  if (strides.size() != sizes.size()) return false;
  if (std::count(sizes.begin(), sizes.end(), 0) != 0) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> order;  // stride, size
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) order.emplace_back(strides[d], sizes[d]);
  }
  std::sort(order.begin(), order.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : order) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

std::vector<std::int64_t> counts(const JsonCursor& list) {
  std::vector<std::int64_t> values;
  for (const JsonCursor& item : list.items()) values.push_back(item.non_negative());
  return values;
}

/// Each rank has one piece at most, and the next one begins where it ends.
std::vector<StoredPiece> read_pieces(const JsonCursor& list, std::int64_t elements, int world) {
  std::vector<StoredPiece> pieces;
  std::set<std::int64_t> ranks;
  std::int64_t next = 0;
  for (const JsonCursor& item : list.items()) {
    item.only_keys({"rank", "first", "elements"});
    const std::int64_t rank = item.at("rank").non_negative();
    const std::int64_t count = item.at("elements").non_negative();
    if (rank >= world || !ranks.insert(rank).second) {
      throw item.at("rank").error(
          ErrorCode::kBadCheckpoint, "rank {} of {}, or one that was before", rank, world);
    }
    if (item.at("first").non_negative() != next || count == 0 || count > elements - next) {
      throw item.error(
          ErrorCode::kBadCheckpoint, "the pieces do not make {} elements, each once", elements);
    }
    pieces.push_back({static_cast<int>(rank), {next, count}});
    next += count;
  }
  if (next != elements) {
    throw list.error(ErrorCode::kBadCheckpoint, "{} of {} elements are there", next, elements);
  }
  return pieces;
}

StoredTensor read_tensor(const JsonCursor& item, int world) {
  item.only_keys({"name", "dtype", "shape", "strides", "pieces"});
  StoredTensor tensor;
  tensor.name = item.at("name").string();
  const auto dtype = program::dtype_named(item.at("dtype").string());
  if (!dtype) throw item.at("dtype").error(ErrorCode::kJsonBadValue, "unknown dtype");
  tensor.dtype = *dtype;
  tensor.sizes = counts(item.at("shape"));
  tensor.strides = counts(item.at("strides"));
  const std::int64_t elements = count_elements(tensor.sizes, item.at("shape"));
  if (!is_dense(tensor.sizes, tensor.strides)) {
    throw item.at("strides").error(ErrorCode::kBadCheckpoint, "the strides do not fit the shape");
  }
  tensor.pieces = read_pieces(item.at("pieces"), elements, world);
  return tensor;
}

}  // namespace

std::int64_t StoredTensor::elements() const {
  return pieces.empty() ? 0 : pieces.back().elements.first + pieces.back().elements.count;
}

std::string rank_file_name(int rank, int world) {
  return fmt::format("rank-{}-of-{}.safetensors", rank, world);
}

int ranks_of_files(const std::vector<std::string>& names) {
  const int world = static_cast<int>(names.size());
  for (int rank = 0; rank < world; ++rank) {
    if (names[static_cast<std::size_t>(rank)] != rank_file_name(rank, world)) return 0;
  }
  return world;
}

Json index_of(const std::vector<StateShard>& shards) {
  Json tensors = Json::array();
  for (const StateShard& shard : shards) {
    std::vector<StoredPiece> in_order;
    for (std::size_t rank = 0; rank < shard.saved.size(); ++rank) {
      if (shard.saved[rank].count > 0) {
        in_order.push_back({static_cast<int>(rank), shard.saved[rank]});
      }
    }
    // With several replicas, a rank's piece may be before that of the rank before it.
    std::sort(in_order.begin(), in_order.end(), [](const StoredPiece& a, const StoredPiece& b) {
      return a.elements.first < b.elements.first;
    });
    Json pieces = Json::array();
    for (const StoredPiece& piece : in_order) {
      pieces.push_back({{"rank", piece.rank},
                        {"first", piece.elements.first},
                        {"elements", piece.elements.count}});
    }
    tensors.push_back({{"name", shard.name},
                       {"dtype", program::name_of(shard.dtype)},
                       {"shape", shard.sizes},
                       {"strides", shard.strides},
                       {"pieces", std::move(pieces)}});
  }
  return tensors;
}

std::vector<StoredTensor> read_index(const JsonCursor& tensors, int world) {
  std::vector<StoredTensor> index;
  std::set<std::string> names;
  for (const JsonCursor& item : tensors.items()) {
    index.push_back(read_tensor(item, world));
    if (!names.insert(index.back().name).second) {
      throw item.at("name").error(ErrorCode::kBadCheckpoint, "two tensors of this name");
    }
  }
  return index;
}

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    next *= std::max<std::int64_t>(sizes[d], 1);
  }
  return strides;
}

bool same_order(const std::vector<std::int64_t>& sizes,
                const std::vector<std::int64_t>& strides,
                const std::vector<std::int64_t>& others) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1 && strides[d] != others[d]) return false;
  }
  return true;
}

}  // namespace elixir::train
