// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/chunk_bindings.h"

#include "core/error.h"
#include "replay/replay_call.h"
#include "runtime/state/element.h"

namespace elixir::runtime {

ChunkBindings::ChunkBindings(const program::Program& program,
                             const std::vector<ParameterLayout>& layouts,
                             std::size_t chunks,
                             c10::Device device,
                             void* poison,
                             std::vector<replay::StorageTable>& tables)
    : program_(program),
      layouts_(layouts),
      device_(device),
      poison_(poison),
      tables_(tables),
      parameters_of_chunk_(chunks),
      places_(chunks) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    parameters_of_chunk_[layouts[i].chunk].push_back(static_cast<std::int32_t>(i));
  }
}

void ChunkBindings::bind(std::int32_t chunk, void* memory) {
  require(memory != nullptr, "a chunk has no memory to be read from");
  const std::vector<c10::Storage>& storages = place_of(chunk, memory).parameters;
  const std::vector<std::int32_t>& parameters = parameters_of_chunk_[chunk];
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const program::StorageId id = program_.parameters[parameters[i]].tensor.storage;
    for (auto& table : tables_) table[id] = storages[i];
  }
}

void ChunkBindings::unbind(std::int32_t chunk) {
  if (poison_ != nullptr) return bind(chunk, poison_);
  for (const std::int32_t p : parameters_of_chunk_[chunk]) {
    for (auto& table : tables_) table[program_.parameters[p].tensor.storage] = c10::Storage();
  }
}

const ChunkBindings::Place& ChunkBindings::place_of(std::int32_t chunk, void* memory) {
  std::vector<Place>& known = places_[chunk];
  for (const Place& place : known) {
    if (place.memory == memory) return place;
  }
  Place& place = known.emplace_back(Place{.memory = memory, .parameters = {}});
  for (const std::int32_t p : parameters_of_chunk_[chunk]) {
    const program::StorageId id = program_.parameters[p].tensor.storage;
    place.parameters.push_back(replay::borrow_storage(
        advance(memory, layouts_[p].offset_bytes), program_.storages[id].bytes, device_));
  }
  return place;
}

}  // namespace elixir::runtime
