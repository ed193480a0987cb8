// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/shards/stored_tensors.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/file_error.h"

namespace elixir::train {

using runtime::HeldElements;

std::shared_ptr<const JsonDocument> load_state(const Directory& checkpoint) {
  // Four for each piece of a tensor. That of a model of 1,500 parameters on a thousand ranks has
  // some two million pieces.
  constexpr JsonLimits kLimits{.values = 10'000'000, .bytes = std::uint64_t{1} << 29};
  return JsonDocument::parse(
      checkpoint.read(kStateFile, kLimits.bytes), checkpoint.file(kStateFile), kLimits);
}

StoredTensors StoredTensors::open(const Directory& checkpoint) {
  const auto document = load_state(checkpoint);
  const JsonCursor root = document->root("elixir.checkpoint", 1);
  StoredTensors stored;
  if (const auto index = root.nullable("tensors")) {
    stored.add_pieces(checkpoint, *index, static_cast<int>(root.at("files").items().size()));
  } else {
    for (const char* name : {kModelFile, kOptimizerFile}) stored.add_whole(checkpoint, name);
  }
  return stored;
}

/// A file of whole tensors is like that of a rank which holds everything.
void StoredTensors::add_whole(const Directory& checkpoint, const std::string& name) {
  const std::string path = checkpoint.file(name);
  const int file = static_cast<int>(files_.size());
  files_.push_back(Safetensors::open(InputFile::open(checkpoint, name)));
  for (const SafetensorsEntry& entry : files_.back()->entries()) {
    if (!entry.dtype) {
      throw file_error(ErrorCode::kBadCheckpoint,
                       path,
                       "`{}` is of dtype {}, which no checkpoint has",
                       entry.name,
                       entry.dtype_text);
    }
    StoredTensor tensor{entry.name, *entry.dtype, entry.sizes, row_major(entry.sizes), {}};
    const std::int64_t elements = entry.bytes / program::element_bytes(*entry.dtype);
    if (elements > 0) tensor.pieces = {{file, {0, elements}}};
    if (!tensors_.emplace(entry.name, std::move(tensor)).second) {
      throw file_error(ErrorCode::kBadCheckpoint, path, "`{}` is there twice", entry.name);
    }
  }
}

void StoredTensors::add_pieces(const Directory& checkpoint, const JsonCursor& index, int world) {
  for (int rank = 0; rank < world; ++rank) {
    files_.push_back(Safetensors::open(InputFile::open(checkpoint, rank_file_name(rank, world))));
  }
  for (StoredTensor& tensor : read_index(index, world)) {
    for (const StoredPiece& piece : tensor.pieces) {
      const Safetensors& file = *files_[static_cast<std::size_t>(piece.rank)];
      const SafetensorsEntry* entry = file.find(tensor.name);
      if (entry != nullptr && entry->dtype == tensor.dtype &&
          entry->sizes == std::vector<std::int64_t>{piece.elements.count}) {
        continue;
      }
      throw file_error(ErrorCode::kBadCheckpoint,
                       file.path(),
                       "`{}` does not have {} {} elements of `{}`, as the index says",
                       file.path(),
                       piece.elements.count,
                       program::name_of(tensor.dtype),
                       tensor.name);
    }
    std::string name = tensor.name;
    tensors_.emplace(std::move(name), std::move(tensor));
  }
}

const StoredTensor* StoredTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

at::Tensor StoredTensors::read_as_stored(const StoredTensor& tensor,
                                         const HeldElements& elements) const {
  at::Tensor all =
      at::empty({elements.count}, at::TensorOptions().dtype(capture::scalar_type(tensor.dtype)));
  const std::int64_t end = elements.first + elements.count;
  for (const StoredPiece& piece : tensor.pieces) {
    const std::int64_t from = std::max(elements.first, piece.elements.first);
    const std::int64_t to = std::min(end, piece.elements.first + piece.elements.count);
    if (from >= to) continue;
    const Safetensors& file = *files_[static_cast<std::size_t>(piece.rank)];
    file.read_elements(*file.find(tensor.name),
                       from - piece.elements.first,
                       all.narrow(0, from - elements.first, to - from));
  }
  return all;
}

at::Tensor StoredTensors::read(const StoredTensor& tensor,
                               const std::vector<std::int64_t>& strides,
                               const HeldElements& elements) const {
  require(elements.first >= 0 && elements.first + elements.count <= tensor.elements(),
          "elements beyond a stored tensor's");
  if (same_order(tensor.sizes, tensor.strides, strides)) return read_as_stored(tensor, elements);
  // Stored in another order: the elements are anywhere.
  const at::Tensor stored = read_as_stored(tensor, {0, tensor.elements()});
  const at::Tensor wanted = at::empty_strided(tensor.sizes, strides, stored.options());
  wanted.copy_(stored.as_strided(tensor.sizes, tensor.strides));
  return wanted.as_strided({elements.count}, {1}, elements.first).clone();
}

}  // namespace elixir::train
