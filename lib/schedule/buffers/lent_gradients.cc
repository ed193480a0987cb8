// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/lent_gradients.h"

#include <algorithm>

#include "core/allocation_unit.h"
#include "operators/own.h"

namespace elixir::schedule {
namespace {

using operators::Movement;
using program::OperatorId;
using program::StorageId;

/// An activation that waits between forward and backward.
struct Waiting {
  OperatorId back_at = -1;  ///< begins its way back
  StorageId copy = -1;
  std::int64_t bytes = 0;
};

/// In the order in which backward takes them back.
std::vector<Waiting> returns_of(const program::Program& program, const ProgramNeeds& needs) {
  std::vector<Waiting> found;
  for (std::size_t op = 0; op < needs.movements.size(); ++op) {
    if (needs.movements[op] != Movement::kReloadBegin) continue;
    const auto& tensor = std::get<program::TensorRef>(program.operators[op].arguments.at(0));
    found.push_back(
        {static_cast<OperatorId>(op), tensor.storage, program.storages[tensor.storage].bytes});
  }
  return found;
}

/// Whether the chunk's gradients are used up on the device, between one forward pass and the next.
bool may_lend(const plan::Plan& plan, const plan::Chunk& chunk) {
  return plan.clips_gradients && plan.accumulation_steps == 1 &&
         chunk.gradient_home == plan::Home::kDevice && chunk.optimizer_home == plan::Home::kDevice;
}

std::int64_t home_bytes(const plan::Plan& plan, const plan::Chunk& chunk) {
  return rounded_allocation(plan::shard_bytes(plan, chunk, chunk.gradient_dtype));
}

/// 0: the chunk has no gradient block of its own.
std::int64_t own_block_bytes(const plan::Plan& plan, const plan::Chunk& chunk) {
  const bool has = plan.world > 1 && chunk.kind == plan::Chunk::Kind::kPrivate;
  return has ? rounded_allocation(plan::exchanged_bytes(plan, chunk)) : 0;
}

/// A chunk that lends, and the operator that makes the first of its gradients.
struct Lender {
  OperatorId written_at = -1;
  std::int32_t chunk = -1;
};

/// The one that is written last comes first.
std::vector<Lender> lenders_of(const plan::Plan& plan,
                               const std::vector<plan::Place>& places,
                               const ProgramNeeds& needs,
                               const std::vector<ChunkNeeds>& chunks) {
  std::vector<Lender> lenders;
  std::vector<bool> seen(plan.chunks.size(), false);
  for (std::size_t op = 0; op < needs.gradients_ready.size(); ++op) {
    for (const std::int32_t parameter : needs.gradients_ready[op]) {
      const std::int32_t chunk = places[parameter].chunk;
      if (seen[chunk] || !chunks[chunk].trained) continue;
      seen[chunk] = true;
      if (!may_lend(plan, plan.chunks[chunk])) continue;
      lenders.push_back({static_cast<OperatorId>(op), chunk});
    }
  }
  std::reverse(lenders.begin(), lenders.end());
  return lenders;
}

}  // namespace

std::int64_t lendable_bytes(const plan::Plan& plan, const plan::Chunk& chunk) {
  return may_lend(plan, chunk) ? home_bytes(plan, chunk) + own_block_bytes(plan, chunk) : 0;
}

LentGradients lent_gradients(const program::Program& program,
                             const plan::Plan& plan,
                             const std::vector<plan::Place>& places,
                             const ProgramNeeds& needs,
                             const std::vector<ChunkNeeds>& chunks) {
  const std::vector<std::int64_t> elsewhere(plan.chunks.size(), -1);
  LentGradients lent{.of_chunk = elsewhere, .block_of_chunk = elsewhere};
  const std::vector<Waiting> returns = returns_of(program, needs);
  if (returns.empty()) return lent;
  const std::vector<Lender> lenders = lenders_of(plan, places, needs, chunks);
  for (const Lender& lender : lenders) {
    const plan::Chunk& chunk = plan.chunks[lender.chunk];
    lent.of_chunk[lender.chunk] = lent.bytes;
    lent.bytes += home_bytes(plan, chunk);
    const std::int64_t block_bytes = own_block_bytes(plan, chunk);
    if (block_bytes > 0) lent.block_of_chunk[lender.chunk] = lent.bytes;
    lent.bytes += block_bytes;
  }
  // From the end down. What returns later must end before the gradients that are written by then,
  // so it lies lower, and no room is lost.
  std::int64_t free_end = lent.bytes;
  auto written_last = lenders.rbegin();
  for (const Waiting& waiting : returns) {
    while (written_last != lenders.rend() && written_last->written_at <= waiting.back_at) {
      free_end = std::min(free_end, lent.of_chunk[written_last->chunk]);
      ++written_last;
    }
    const std::int64_t bytes = rounded_allocation(waiting.bytes);
    if (bytes > free_end) continue;
    free_end -= bytes;
    lent.of_copy[waiting.copy] = free_end;
  }
  if (lent.of_copy.empty()) lent = {.of_chunk = elsewhere, .block_of_chunk = elsewhere};
  return lent;
}

std::int64_t lent_bytes(const program::Program& program, const plan::Plan& plan) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const ProgramNeeds needs = program_needs(program, lifetimes, /*training=*/true);
  const std::vector<plan::Place> places = plan::locate_parameters(plan, program);
  const StepNeeds step = step_needs(program, lifetimes, needs, plan, places);
  std::int64_t bytes = 0;
  for (const auto& [copy, place] :
       lent_gradients(program, plan, places, needs, step.chunks).of_copy) {
    bytes += program.storages[copy].bytes;
  }
  return bytes;
}

}  // namespace elixir::schedule
