// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/placements.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/allocation_unit.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "schedule/buffers/buffers.h"
#include "schedule/buffers/gradient_blocks.h"

namespace elixir::search {

using plan::Chunk;
using plan::Home;

PlacementSpace::PlacementSpace(const Problem& problem)
    : problem_(problem), trains_(problem.request().optimizer != program::Optimizer::kNone) {
  std::vector<schedule::Buffer> tensors;
  schedule::add_tensor_buffers(tensors, problem.program(), problem.lifetimes());
  // On the host, as far as no gradients lend their memory.
  schedule::add_offloaded_buffers(tensors, problem.program(), {}, -1);
  if (trains_) schedule::add_gradient_sums(tensors, problem.program(), problem.ranks().world);
  fixed_bytes_ = {.device = schedule::buffer_bytes(tensors, schedule::Arena::kDevice),
                  .host = schedule::buffer_bytes(tensors, schedule::Arena::kHost)};
  make_packings();
  dynamic_bytes_ = dynamic_bytes_of(smallest(), 0);
}

State PlacementSpace::state_of(const Placement& placement, std::size_t chunk) const {
  if (chunk < placement.resident) return State::kResident;
  if (chunk < placement.resident + placement.streamed_optimizer) return State::kStreamedOptimizer;
  return through_cache(packings_[placement.packing], chunk) ? State::kStreamed
                                                            : State::kStreamedOptimizer;
}

std::vector<Chunk> PlacementSpace::placed_chunks(const Placement& placement) const {
  const Packing& packing = packings_[placement.packing];
  std::vector<Chunk> chunks = packing.chunks;
  int on_host = 0;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    set_homes(chunks[c], state_of(placement, c));
    if (chunks[c].optimizer_home != Home::kHost || !packing.trained[c]) continue;
    // Evenly, so that cores and device update side by side what the next forward needs first.
    const int before = on_host++ * placement.streamed_updates / kUpdateShares;
    chunks[c].streams_update = on_host * placement.streamed_updates / kUpdateShares > before;
  }
  int late = (on_host * placement.late_moments + kUpdateShares - 1) / kUpdateShares;
  for (std::size_t c = 0; c < chunks.size() && late > 0; ++c) {
    if (chunks[c].optimizer_home != Home::kHost || !packing.trained[c]) continue;
    chunks[c].late_moments = chunks[c].gradient_home == Home::kHost;
    --late;
  }
  return chunks;
}

Evaluated PlacementSpace::outline(const Placement& placement) const {
  const Packing& packing = packings_[placement.packing];
  plan::Plan plan = problem_.blank_plan("optimal");
  plan.chunks = placed_chunks(placement);
  plan.kept_gradients = placement.kept_gradients_in_plan();
  const bool streams = std::any_of(plan.chunks.begin(), plan.chunks.end(), [](const Chunk& chunk) {
    return chunk.streams_update;
  });
  const Footprint& footprint = footprints_[placement.packing];
  plan.cache = {.blocks = footprint.blocks(placement),
                .block_bytes = footprint.block_bytes(placement),
                .gradient_window_bytes = placement.gradient_window_bytes,
                .update_piece_elements = streams ? footprint.update_piece_elements(placement) : 0};
  std::string description = describe(plan);
  return problem_.evaluate(std::move(plan), packing.places, std::move(description));
}

void PlacementSpace::add_names(plan::Plan& plan, const Placement& placement) const {
  const Packing& packing = packings_[placement.packing];
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    plan.chunks[c].parameters = packing.names[c];
  }
}

Evaluated PlacementSpace::evaluate(const Placement& placement) const {
  Evaluated evaluated = outline(placement);
  add_names(evaluated.plan, placement);
  return evaluated;
}

std::int64_t PlacementSpace::gpu_memory_of(const Placement& placement,
                                           std::int64_t dynamic_bytes) const {
  const std::int64_t fixed = device_bytes(placement);
  return problem_.gpu_memory_for(fixed + dynamic_bytes, fixed, host_bytes(placement));
}

std::int64_t PlacementSpace::dynamic_bytes_of(const Placement& base,
                                              std::int64_t window_bytes) const {
  Placement placement = base;
  placement.gradient_window_bytes = window_bytes;
  const Evaluated evaluated = outline(placement);
  return evaluated.simulation.device.bytes - device_bytes(placement);
}

std::int64_t PlacementSpace::device_bytes(const Placement& placement) const {
  return fixed_bytes_.device + footprints_[placement.packing].bytes(placement).device;
}

std::int64_t PlacementSpace::host_bytes(const Placement& placement) const {
  std::int64_t bytes = fixed_bytes_.host + footprints_[placement.packing].bytes(placement).host;
  if (placement.kept_gradients_in_plan() == 1) return bytes;
  plan::Plan plan = problem_.blank_plan("optimal");
  plan.kept_gradients = placement.kept_gradients_in_plan();
  for (const Chunk& chunk : placed_chunks(placement)) {
    if (!chunk.late_moments) continue;
    bytes += rounded_allocation(plan::kept_gradient_bytes(plan, chunk)) -
             rounded_allocation(plan::shard_bytes(plan, chunk, chunk.gradient_dtype));
  }
  return bytes;
}

std::vector<int> PlacementSpace::kept_gradients() const {
  std::vector<int> numbers = {1};
  if (plan::gradient_parts(problem_.blank_plan("optimal")) == 1) {
    for (int more = 2; more <= plan::kMostKeptGradients; ++more) numbers.push_back(more);
  }
  return numbers;
}

std::int64_t PlacementSpace::blocks(const Placement& placement) const {
  return footprints_[placement.packing].blocks(placement);
}

Placement PlacementSpace::smallest() const {
  Placement best;
  std::int64_t best_bytes = std::numeric_limits<std::int64_t>::max();
  for (std::size_t p = 0; p < packings_.size(); ++p) {
    const Placement placement{.packing = p};
    const std::int64_t bytes = device_bytes(placement);
    if (bytes < best_bytes) {
      best = placement;
      best_bytes = bytes;
    }
  }
  return best;
}

void PlacementSpace::add_packing(Layout layout, std::int64_t capacity_bytes) {
  // The first chunks become resident first. Private chunks take device memory in any case, and most
  // are needed at the start of the next forward (tied embeddings), so they come first.
  Layout tied = private_chunks(problem_.items());
  layout.insert(
      layout.begin(), std::make_move_iterator(tied.begin()), std::make_move_iterator(tied.end()));
  Packing packing;
  packing.capacity_bytes = capacity_bytes;
  packing.chunks = chunks_of(layout, problem_.program(), problem_.blank_plan("optimal"));
  packing.places.resize(problem_.program().parameters.size());
  for (std::size_t c = 0; c < layout.size(); ++c) {
    const Members& members = layout[c];
    packing.names.push_back(std::move(packing.chunks[c].parameters));
    packing.chunks[c].parameters.clear();
    for (std::size_t i = 0; i < members.items.size(); ++i) {
      packing.places[members.items[i].parameter] = {
          .chunk = static_cast<std::int32_t>(c), .offset_bytes = packing.names[c][i].offset_bytes};
    }
    packing.trained.push_back(
        trains_ &&
        problem_.program().parameters[members.items.front().parameter].gradient.has_value());
  }
  packing.outlier.assign(packing.chunks.size(), false);
  for (const Packing& other : packings_) {
    if (same_chunks(other, packing)) return;
  }
  packings_.push_back(std::move(packing));
  find_outliers(packings_.size() - 1);
}

bool PlacementSpace::same_chunks(const Packing& a, const Packing& b) {
  if (a.chunks.size() != b.chunks.size()) return false;
  for (std::size_t c = 0; c < a.chunks.size(); ++c) {
    if (a.chunks[c].bytes != b.chunks[c].bytes || a.names[c].size() != b.names[c].size()) {
      return false;
    }
  }
  return true;
}

void PlacementSpace::find_outliers(std::size_t index) {
  Packing& packing = packings_[index];
  std::vector<std::size_t> by_size;
  for (std::size_t c = 0; c < packing.chunks.size(); ++c) {
    if (packing.chunks[c].kind == Chunk::Kind::kPublic) by_size.push_back(c);
  }
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return packing.chunks[a].bytes > packing.chunks[b].bytes;
  });
  const plan::Plan blank = problem_.blank_plan("optimal");
  const std::vector<ChunkBytes> bytes = chunk_bytes(packing, blank);
  plan::Plan packed = blank;
  packed.chunks = packing.chunks;
  SharedBuffers shared{
      .gradient_blocks =
          schedule::gradient_blocks(packed, packing.places, problem_.needs(), packing.trained)
              .count};
  for (const State state : {State::kResident, State::kStreamed}) {
    if (!schedule::shares_gradients(packed)) break;
    for (Chunk& chunk : packed.chunks) set_homes(chunk, state);
    const auto home = static_cast<std::size_t>(packed.chunks.front().gradient_home);
    shared.gradients[home] =
        schedule::shared_gradients(
            packed,
            packing.places,
            problem_.needs(),
            schedule::step_needs(
                problem_.program(), problem_.lifetimes(), problem_.needs(), packed, packing.places)
                .chunks)
            .count[home];
  }
  const auto footprint = [&] {
    return Footprint(packing, blank, shared, bytes, problem_.use_sets());
  };
  footprints_.push_back(footprint());
  // If a rank has only a shard, a chunk that no block has room for could not be used.
  if (plan::grid_of(blank).shards() > 1) return;
  std::vector<bool> best = packing.outlier;
  const std::size_t most = std::min<std::size_t>(by_size.size(), kMostOutliers);
  for (std::size_t count = 0; count < most; ++count) {
    packing.outlier[by_size[count]] = true;
    Footprint candidate = footprint();
    if (candidate.bytes({}).device >= footprints_.back().bytes({}).device) continue;
    footprints_.back() = std::move(candidate);
    best = packing.outlier;
  }
  packing.outlier = std::move(best);
}

void PlacementSpace::make_packings() {
  const std::vector<Item>& items = problem_.items();
  const std::vector<std::vector<Item>> together = used_together(items, problem_.lifetimes());
  const auto bytes_of = [](const std::vector<Item>& group) {
    std::int64_t bytes = 0;
    for (const Item& item : group) bytes += item.bytes;
    return bytes;
  };
  const std::vector<std::vector<Item>> alone = singles(items);
  std::int64_t largest = 0, total = 0;
  for (const std::vector<Item>& group : together) {
    largest = std::max(largest, bytes_of(group));
    total += bytes_of(group);
  }
  // If ranks have shards, any block has room for the largest group. A norm that is a chunk of
  // its own takes a whole block, too, and a gather for which every rank waits for the others.
  const std::int64_t filled_bytes = problem_.is_sharded() ? largest : 0;
  add_packing(pack(together, filled_bytes), filled_bytes);
  if (filled_bytes == 0 || alone.size() > together.size()) add_packing(pack(alone, 0), 0);
  for (const std::int64_t parts : {64, 32, 16, 8, 4}) {
    add_packing(pack(together, total / parts), total / parts);
  }
}

std::string PlacementSpace::describe(const plan::Plan& plan) const {
  std::int64_t resident = 0;
  std::int64_t streamed = 0;
  std::int64_t updated = 0;
  std::int64_t late = 0;
  std::int64_t largest = 0;
  for (const Chunk& chunk : plan.chunks) {
    largest = std::max(largest, chunk.bytes);
    if (chunk.optimizer_home == Home::kDevice) ++resident;
    if (chunk.streams_update) ++updated;
    if (chunk.late_moments) ++late;
    if (chunk.parameter_home == Home::kHost) ++streamed;
  }
  std::string text = fmt::format(
      "{} chunks of up to {}: {} stay on the device whole, {} come from the host through {} "
      "block{}, {} of gradients on their way",
      plan.chunks.size(),
      format_bytes(largest),
      resident,
      streamed,
      plan.cache.blocks,
      plan.cache.blocks == 1 ? "" : "s",
      format_bytes(plan.cache.gradient_window_bytes));
  if (updated > 0) text += fmt::format(", {} of them updated on the device", updated);
  if (late > 0) text += fmt::format(", moments of {} made late", late);
  return text;
}

std::size_t PlacementSpace::most_resident(std::size_t packing) const {
  const bool any = problem_.request().optimizer_state == OptimizerState::kAuto;
  return any ? packings_[packing].chunks.size() : 0;
}

std::vector<ChainMember> chain_of(const PlacementSpace& space) {
  std::vector<ChainMember> chain;
  Placement placement = space.smallest();
  const std::size_t most = space.most_resident(placement.packing);
  for (placement.resident = 0; placement.resident <= most; ++placement.resident) {
    throw_if_interrupted();
    chain.push_back({.placement = placement,
                     .gpu_memory_bytes = space.gpu_memory_of(placement, space.dynamic_bytes()),
                     .host_bytes = space.host_bytes(placement)});
  }
  return chain;
}

std::optional<ChainMember> least_device(const std::vector<ChainMember>& chain,
                                        std::int64_t host_budget_bytes) {
  std::optional<ChainMember> best;
  for (const ChainMember& link : chain) {
    if (link.host_bytes > host_budget_bytes) continue;
    if (!best || link.gpu_memory_bytes < best->gpu_memory_bytes) best = link;
  }
  return best;
}

std::optional<ChainMember> least_host(const std::vector<ChainMember>& chain,
                                      std::int64_t gpu_budget_bytes) {
  std::optional<ChainMember> best;
  for (const ChainMember& link : chain) {
    if (link.gpu_memory_bytes > gpu_budget_bytes) continue;
    if (!best || link.host_bytes < best->host_bytes) best = link;
  }
  return best;
}

}  // namespace elixir::search
