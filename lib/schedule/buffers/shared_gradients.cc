// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/shared_gradients.h"

#include <deque>
#include <map>

namespace elixir::schedule {
namespace {

using program::OperatorId;

/// The buffers of one home.
class Turns {
 public:
  explicit Turns(std::size_t spare) : spare_(spare) {}

  std::int32_t take() {
    if (free_.size() <= spare_) return count_++;
    const std::int32_t oldest = free_.front();
    free_.pop_front();
    return oldest;
  }
  void give_back(std::int32_t buffer) { free_.push_back(buffer); }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  std::size_t spare_;
  std::int32_t count_ = 0;
  std::deque<std::int32_t> free_;  ///< the one that has been so for longest first
};

}  // namespace

bool shares_gradients(const plan::Plan& plan) {
  return !plan.clips_gradients && (plan.accumulation_steps == 1 || plan::reduces_once(plan));
}

SharedGradients shared_gradients(const plan::Plan& plan,
                                 const std::vector<plan::Place>& places,
                                 const ProgramNeeds& needs,
                                 const std::vector<ChunkNeeds>& chunks) {
  SharedGradients shared{.of_chunk = std::vector<std::int32_t>(plan.chunks.size(), -1)};
  if (!shares_gradients(plan)) return shared;
  // One more lets the next chunk's gradients come while a chunk is updated. Cores take longer.
  constexpr std::size_t kSpareOnDevice = 1, kSpareOnHost = 2;
  std::array<Turns, 2> turns{Turns(kSpareOnDevice), Turns(kSpareOnHost)};
  static_assert(static_cast<int>(plan::Home::kDevice) == 0);
  const auto turns_of = [&](std::int32_t chunk) -> Turns& {
    return turns[static_cast<std::size_t>(plan.chunks[chunk].gradient_home)];
  };
  std::vector<int> left;  // gradients that are still to come, by chunk
  for (const ChunkNeeds& chunk : chunks) left.push_back(chunk.gradients);
  std::multimap<OperatorId, std::int32_t> read_later;  // by the last operator that reads a chunk
  const auto operators = static_cast<OperatorId>(needs.gradients_ready.size());
  for (OperatorId op = 0; op < operators; ++op) {
    for (const std::int32_t parameter : needs.gradients_ready[op]) {
      const std::int32_t chunk = places[parameter].chunk;
      if (!chunks[chunk].trained) continue;
      const bool complete = --left[chunk] == 0;
      // Several ranks add up gradients once all of them are there.
      std::int32_t& buffer = shared.of_chunk[chunk];
      if (buffer < 0 && (complete || plan.world == 1)) buffer = turns_of(chunk).take();
      if (!complete) continue;
      if (chunks[chunk].last_use < op) {
        turns_of(chunk).give_back(buffer);
      } else {
        read_later.emplace(chunks[chunk].last_use, chunk);
      }
    }
    const auto [first, last] = read_later.equal_range(op);
    for (auto it = first; it != last; ++it) {
      turns_of(it->second).give_back(shared.of_chunk[it->second]);
    }
  }
  for (std::size_t home = 0; home < turns.size(); ++home) shared.count[home] = turns[home].count();
  return shared;
}

}  // namespace elixir::schedule
