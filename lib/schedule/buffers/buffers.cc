// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/buffers.h"

#include <algorithm>
#include <utility>

#include "core/allocation_unit.h"
#include "core/units.h"
#include "operators/own.h"
#include "schedule/buffers/gradient_sums.h"
#include "schedule/buffers/update_piece.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;
using plan::Home;
using program::DType;

// On the host a second staging buffer is cheap and lets a copy overlap with an update. On the
// device every byte counts.
constexpr int kHostStagingBuffers = 2;
constexpr int kDeviceStagingBuffers = 1;

Arena arena_of(Home home) {
  return home == Home::kDevice ? Arena::kDevice : Arena::kHost;
}

BufferId add_buffer(std::vector<Buffer>& buffers,
                    Arena arena,
                    BufferRole role,
                    std::int32_t chunk,
                    std::int64_t bytes) {
  const auto id = static_cast<BufferId>(buffers.size());
  buffers.push_back({.id = id, .arena = arena, .role = role, .chunk = chunk, .bytes = bytes});
  return id;
}

class ChunkBufferMaker {
 public:
  ChunkBufferMaker(const plan::Plan& plan,
                   const std::vector<bool>& trained,
                   int micro_batches,
                   const GradientBlocks& blocks,
                   const SharedGradients& shared,
                   const LentGradients& lent)
      : plan_(plan),
        trained_(trained),
        micro_batches_(micro_batches),
        gradient_block_of_(blocks.of_chunk),
        gradient_blocks_(blocks.count),
        shared_of_(shared.of_chunk),
        lent_(lent) {
    for (std::size_t home = 0; home < shared.count.size(); ++home) {
      shared_gradients_[home].resize(static_cast<std::size_t>(shared.count[home]), -1);
    }
  }

  /// Each as large as the largest chunk that uses it.
  void add_shared_gradients() {
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      if (shared_of_[c] < 0) continue;
      const Chunk& chunk = plan_.chunks[c];
      const std::int64_t bytes = plan::shard_bytes(plan_, chunk, chunk.gradient_dtype);
      BufferId& buffer = shared_gradient(c);
      if (buffer < 0) buffer = add(arena_of(chunk.gradient_home), BufferRole::kGradients, -1, 0);
      buffers_.all[buffer].bytes = std::max(buffers_.all[buffer].bytes, bytes);
    }
  }

  void add_lent_gradients() {
    if (lent_.bytes == 0) return;
    buffers_.lent = add(Arena::kDevice, BufferRole::kGradients, -1, lent_.bytes);
  }

  void add_chunks() {
    buffers_.of_chunk.resize(plan_.chunks.size());
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) add_chunk(static_cast<std::int32_t>(c));
  }

  void add_blocks() {
    for (std::int64_t b = 0; b < plan_.cache.blocks; ++b) {
      buffers_.blocks.push_back(
          add(Arena::kDevice, BufferRole::kBlock, -1, plan_.cache.block_bytes));
    }
  }

  void add_staging() {
    for (const Home home : {Home::kDevice, Home::kHost}) {
      const auto side = static_cast<std::size_t>(home);
      buffers_.gradient_staging[side] = add_staging(home, largest_gradients_[side]);
      buffers_.parameter_staging[side] = add_staging(home, largest_parameters_[side]);
    }
  }

  void add_landing() {
    for (int i = 0; i < landing_buffers(landed_bytes_, largest_landing_); ++i) {
      buffers_.landing.push_back(
          add(Arena::kHost, BufferRole::kGradientLanding, -1, largest_landing_));
    }
  }

  void add_update_pieces() {
    const std::int64_t bytes = update_piece_layout(plan_).bytes;
    for (int i = 0; bytes > 0 && i < kUpdatePieces; ++i) {
      buffers_.update_pieces.push_back(add(Arena::kDevice, BufferRole::kUpdatePiece, -1, bytes));
    }
  }

  void add_reductions() {
    if (largest_received_ == 0) return;
    std::vector<BufferId> shared;
    shared.reserve(static_cast<std::size_t>(gradient_blocks_));
    for (std::int32_t b = 0; b < gradient_blocks_; ++b) {
      shared.push_back(
          add(Arena::kDevice, BufferRole::kGradientBlock, -1, largest_public_collected_));
    }
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      if (gradient_block_of_[c] < 0) continue;
      buffers_.of_chunk[c].gradient_block = shared[static_cast<std::size_t>(gradient_block_of_[c])];
    }
    buffers_.exchange = add(Arena::kDevice, BufferRole::kExchange, -1, largest_received_);
    for (int i = 0; reduces_to_host_ && i < kReducedStagingBuffers; ++i) {
      buffers_.reduced_staging.push_back(
          add(Arena::kDevice, BufferRole::kReducedStaging, -1, largest_reduced_));
    }
  }

  StepBuffers take() { return std::move(buffers_); }

 private:
  BufferId add(Arena arena, BufferRole role, std::int32_t chunk, std::int64_t bytes) {
    return add_buffer(buffers_.all, arena, role, chunk, bytes);
  }

  void add_chunk(std::int32_t c) {
    const Chunk& chunk = plan_.chunks[c];
    ChunkBuffers& mine = buffers_.of_chunk[c];
    mine.parameters = add(arena_of(chunk.parameter_home),
                          BufferRole::kParameters,
                          c,
                          plan::shard_bytes(plan_, chunk, chunk.dtype));
    if (plan::needs_block(plan_, chunk) && chunk.kind == Chunk::Kind::kPrivate) {
      mine.private_block = add(Arena::kDevice, BufferRole::kPrivateBlock, c, chunk.bytes);
    }
    if (trained_[c]) add_training(c);
  }

  /// Adds gradients, master and moments, and notes which staging is needed where homes differ.
  void add_training(std::int32_t c) {
    const Chunk& chunk = plan_.chunks[c];
    ChunkBuffers& mine = buffers_.of_chunk[c];
    const std::int64_t gradient_bytes = plan::shard_bytes(plan_, chunk, chunk.gradient_dtype);
    mine.gradients = add(arena_of(chunk.gradient_home),
                         BufferRole::kGradients,
                         c,
                         plan::kept_gradient_bytes(plan_, chunk));
    if (shared_of_[c] >= 0) buffers_.all[mine.gradients].shares = shared_gradient(c);
    lend(mine.gradients, lent_.of_chunk, c);
    const bool is_whole = micro_batches_ == 1 || plan::reduces_once(plan_);
    if (chunk.gradient_home == Home::kHost && !is_whole) {
      // The sum over the ranks lands in the gradients' dtype, a rank's own gradient in its own.
      const std::int64_t bytes = plan_.world > 1 ? gradient_bytes : chunk.bytes;
      largest_landing_ = std::max(largest_landing_, bytes);
      landed_bytes_ += bytes;
    }
    if (plan_.world > 1) add_collecting(c, gradient_bytes);
    const std::int64_t elements = plan::shard_elements(plan_, chunk);
    const Arena optimizer = arena_of(chunk.optimizer_home);
    mine.master =
        plan::master_is_parameter(chunk)
            ? mine.parameters
            : add(optimizer, BufferRole::kMaster, c, elements * plan::master_bytes(plan_, chunk));
    const std::int64_t moment_bytes = plan::shard_bytes(plan_, chunk, plan_.moment_dtype);
    add(optimizer, BufferRole::kMoment1, c, moment_bytes);
    add(optimizer, BufferRole::kMoment2, c, moment_bytes);
    const auto side = static_cast<std::size_t>(chunk.optimizer_home);
    if (chunk.gradient_home != chunk.optimizer_home) {
      largest_gradients_[side] = std::max(largest_gradients_[side], gradient_bytes);
    }
    // In fp32, updated parameters are copied from the master itself.
    if (chunk.parameter_home != chunk.optimizer_home && chunk.dtype != DType::kFloat32) {
      largest_parameters_[side] =
          std::max(largest_parameters_[side], plan::shard_bytes(plan_, chunk, chunk.dtype));
    }
  }

  /// Where the chunk's gradients are collected, and which sizes their sums over the ranks have.
  void add_collecting(std::int32_t c, std::int64_t reduced_bytes) {
    const Chunk& chunk = plan_.chunks[c];
    const std::int64_t collected_bytes = plan::exchanged_bytes(plan_, chunk);
    if (chunk.kind == Chunk::Kind::kPrivate || plan::reduces_once(plan_)) {
      const BufferId block = add(Arena::kDevice, BufferRole::kGradientBlock, c, collected_bytes);
      buffers_.of_chunk[c].gradient_block = block;
      lend(block, lent_.block_of_chunk, c);
    } else {
      largest_public_collected_ = std::max(largest_public_collected_, collected_bytes);
    }
    largest_received_ = std::max(largest_received_, plan::received_bytes(plan_, chunk));
    largest_reduced_ = std::max(largest_reduced_, reduced_bytes);
    reduces_to_host_ = reduces_to_host_ || chunk.gradient_home == Home::kHost;
  }

  /// Where `places`, by chunk, have the buffer in the one that lends.
  void lend(BufferId buffer, const std::vector<std::int64_t>& places, std::int32_t c) {
    if (buffers_.lent < 0 || places[static_cast<std::size_t>(c)] < 0) return;
    buffers_.all[buffer].shares = buffers_.lent;
    buffers_.all[buffer].offset_bytes = places[static_cast<std::size_t>(c)];
  }

  BufferId& shared_gradient(std::size_t c) {
    return shared_gradients_[static_cast<std::size_t>(plan_.chunks[c].gradient_home)]
                            [static_cast<std::size_t>(shared_of_[c])];
  }

  std::vector<BufferId> add_staging(Home home, std::int64_t bytes) {
    std::vector<BufferId> ring;
    if (bytes == 0) return ring;
    const bool host = home == Home::kHost;
    const int count = host ? kHostStagingBuffers : kDeviceStagingBuffers;
    for (int i = 0; i < count; ++i) {
      ring.push_back(add(
          arena_of(home), host ? BufferRole::kHostStaging : BufferRole::kDeviceStaging, -1, bytes));
    }
    return ring;
  }

  const plan::Plan& plan_;
  const std::vector<bool>& trained_;  // by chunk
  const int micro_batches_;
  const std::vector<std::int32_t>& gradient_block_of_;  // by chunk
  const std::int32_t gradient_blocks_;
  const std::vector<std::int32_t>& shared_of_;             // by chunk
  std::array<std::vector<BufferId>, 2> shared_gradients_;  // by gradient home
  const LentGradients& lent_;
  StepBuffers buffers_;
  std::int64_t largest_received_ = 0, largest_public_collected_ = 0, largest_reduced_ = 0;
  bool reduces_to_host_ = false;
  std::int64_t landed_bytes_ = 0, largest_landing_ = 0;
  std::array<std::int64_t, 2> largest_gradients_{}, largest_parameters_{};  // by optimizer home
};

}  // namespace

int landing_buffers(std::int64_t landed_bytes, std::int64_t largest_bytes) {
  constexpr std::int64_t kFewest = 2, kMost = 16;
  if (landed_bytes == 0) return 0;
  const std::int64_t useful = (landed_bytes + largest_bytes - 1) / largest_bytes;
  const std::int64_t wanted = std::clamp(landed_bytes / 2 / largest_bytes, kFewest, kMost);
  return static_cast<int>(std::min(wanted, useful));
}

StepBuffers chunk_buffers(const plan::Plan& plan,
                          const std::vector<bool>& trained,
                          int micro_batches,
                          const GradientBlocks& blocks,
                          const SharedGradients& shared,
                          const LentGradients& lent) {
  ChunkBufferMaker maker(plan, trained, micro_batches, blocks, shared, lent);
  maker.add_shared_gradients();
  maker.add_lent_gradients();
  maker.add_chunks();
  maker.add_blocks();
  maker.add_landing();
  maker.add_staging();
  maker.add_update_pieces();
  maker.add_reductions();
  return maker.take();
}

void add_tensor_buffers(std::vector<Buffer>& buffers,
                        const program::Program& program,
                        const program::Lifetimes& lifetimes) {
  const auto add = [&](BufferRole role, std::size_t which, program::StorageId storage) {
    add_buffer(buffers,
               Arena::kDevice,
               role,
               static_cast<std::int32_t>(which),
               program.storages[storage].bytes);
  };
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    add(BufferRole::kModuleBuffer, i, program.buffers[i].tensor.storage);
  }
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    add(BufferRole::kInput, i, program.inputs[i].tensor.storage);
  }
  for (const program::Storage& storage : program.storages) {
    const bool constant = lifetimes.storages[storage.id].origin == program::Origin::kConstant;
    if (constant && !storage.on_host) {
      add(BufferRole::kConstant, static_cast<std::size_t>(storage.id), storage.id);
    }
  }
}

void add_offloaded_buffers(std::vector<Buffer>& buffers,
                           const program::Program& program,
                           const LentGradients& lent,
                           BufferId lender) {
  for (const program::Operator& op : program.operators) {
    if (operators::movement_of(op.name) != operators::Movement::kOffloadBegin) continue;
    const program::StorageId copy = std::get<program::TensorRef>(op.outputs.at(0)).storage;
    const auto place = lent.of_copy.find(copy);
    const bool is_lent = place != lent.of_copy.end();
    const BufferId id = add_buffer(buffers,
                                   is_lent ? Arena::kDevice : Arena::kHost,
                                   BufferRole::kOffloaded,
                                   copy,
                                   program.storages[copy].bytes);
    if (!is_lent) continue;
    buffers[id].shares = lender;
    buffers[id].offset_bytes = place->second;
  }
}

SumsBuffers add_gradient_sums(std::vector<Buffer>& buffers,
                              const program::Program& program,
                              int world) {
  const auto add = [&](BufferRole role) {
    return add_buffer(buffers, Arena::kDevice, role, -1, gradient_sums_bytes(program));
  };
  const BufferId of_all = add(BufferRole::kGradientSums);
  return {.of_rank = world > 1 ? add(BufferRole::kRankSums) : of_all, .of_all = of_all};
}

std::int64_t page_table_bytes(std::int64_t bytes) {
  constexpr std::int64_t kPageBytes = 4096, kEntryBytes = 8;
  return ceil_div(bytes, kPageBytes) * kEntryBytes;
}

StepBuffers step_buffers(const program::Program& program,
                         const program::Lifetimes& lifetimes,
                         const ProgramNeeds& program_needs,
                         const plan::Plan& plan,
                         const std::vector<plan::Place>& places,
                         const StepNeeds& needs,
                         int micro_batches) {
  std::vector<bool> trained;
  for (const ChunkNeeds& chunk : needs.chunks) trained.push_back(chunk.trained);
  const LentGradients lent = lent_gradients(program, plan, places, program_needs, needs.chunks);
  StepBuffers buffers = chunk_buffers(plan,
                                      trained,
                                      micro_batches,
                                      gradient_blocks(plan, places, program_needs, trained),
                                      shared_gradients(plan, places, program_needs, needs.chunks),
                                      lent);
  add_tensor_buffers(buffers.all, program, lifetimes);
  add_offloaded_buffers(buffers.all, program, lent, buffers.lent);
  if (std::find(trained.begin(), trained.end(), true) != trained.end()) {
    const SumsBuffers sums = add_gradient_sums(buffers.all, program, plan.world);
    buffers.rank_sums = sums.of_rank;
    buffers.gradient_sums = sums.of_all;
  }
  return buffers;
}

std::int64_t buffer_bytes(const std::vector<Buffer>& buffers, Arena arena) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.arena == arena && buffer.shares < 0) bytes += rounded_allocation(buffer.bytes);
  }
  return bytes;
}

}  // namespace elixir::schedule
