// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where operators read a chunk's parameters: at home, in a block, or nowhere. The storages for each
// place are made once, because a step binds hundreds of chunks.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include "program/program.h"
#include "replay/program_replay.h"
#include "runtime/state/parameter_layout.h"

namespace elixir::runtime {

class ChunkBindings {
 public:
  /// `layouts` are of the parameters of `program`, in `chunks` chunks. What is bound goes to all of
  /// `tables`. `poison`: what the parameters of an absent chunk point to; nullptr: to nothing. All
  /// must outlive this object.
  ChunkBindings(const program::Program& program,
                const std::vector<ParameterLayout>& layouts,
                std::size_t chunks,
                c10::Device device,
                void* poison,
                std::vector<replay::StorageTable>& tables);

  /// From now on operators read the chunk from `memory`.
  void bind(std::int32_t chunk, void* memory);
  /// No operator may read it until it is bound again.
  void unbind(std::int32_t chunk);

 private:
  /// A chunk's parameters in one place.
  struct Place {
    void* memory;
    std::vector<c10::Storage> parameters;  ///< as parameters_of_chunk_
  };
  [[nodiscard]] const Place& place_of(std::int32_t chunk, void* memory);

  const program::Program& program_;
  const std::vector<ParameterLayout>& layouts_;
  c10::Device device_;
  void* poison_;
  std::vector<replay::StorageTable>& tables_;
  std::vector<std::vector<std::int32_t>> parameters_of_chunk_;
  std::vector<std::vector<Place>> places_;  ///< by chunk, as they come
};

}  // namespace elixir::runtime
