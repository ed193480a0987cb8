// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_step.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "core/error.h"
#include "memory/step/certainty.h"
#include "memory/step/optimizer_update.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/cuda_traits.h"

namespace elixir::memory {

using program::Category;
using program::OperatorId;
using program::Program;
using Action = PlacedEvent::Action;

namespace {

class TimelineBuilder {
 public:
  TimelineBuilder(const Program& program,
                  const TrainingEvents& events,
                  const std::vector<PlacedEvent>& placed)
      : operators_(static_cast<OperatorId>(program.operators.size())),
        events_(events),
        placed_(placed) {}

  Timeline build() {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const PlacedEvent& event = placed_[i];
      if (event.allocation < 0) continue;
      advance_to(event.at, i);
      count(event, event.action == Action::kAllocate ? event.bytes : -event.bytes);
      if (event.at >= 0 && event.at < operators_) note(event.at, i + 1);
      if (event.at == operators_) note_update(i + 1);
    }
    advance_to(operators_ - 1, placed_.size());
    find_peak();
    return std::move(timeline_);
  }

 private:
  [[nodiscard]] const TrainingAllocation& allocation_of(const PlacedEvent& event) const {
    return events_.allocations.at(static_cast<std::size_t>(event.allocation));
  }

  void count(const PlacedEvent& event, std::int64_t bytes) {
    const TrainingAllocation& allocation = allocation_of(event);
    (allocation.scratch ? scratch_ : live_[index_of(allocation.category)]) += bytes;
    total_ += bytes;
  }

  /// Starts all operators up to `op`, with the memory that is alive before event `position`.
  void advance_to(OperatorId op, std::size_t position) {
    const OperatorId last = std::min(op, static_cast<OperatorId>(operators_ - 1));
    while (static_cast<OperatorId>(timeline_.allocated_bytes.size()) <= last) {
      timeline_.allocated_bytes.push_back(total_);
      timeline_.by_category_bytes.push_back(live_);
      timeline_.scratch_bytes.push_back(scratch_);
      moment_.push_back(position);
    }
  }

  /// Records the state after the first `position` events, if it is the operator's highest so far.
  void note(OperatorId op, std::size_t position) {
    const auto at = static_cast<std::size_t>(op);
    if (total_ <= timeline_.allocated_bytes[at]) return;
    timeline_.allocated_bytes[at] = total_;
    timeline_.by_category_bytes[at] = live_;
    timeline_.scratch_bytes[at] = scratch_;
    moment_[at] = position;
  }

  /// The same after the last operator.
  void note_update(std::size_t position) {
    if (total_ <= update_.bytes) return;
    update_ = {
        .bytes = total_, .by_category = live_, .scratch_bytes = scratch_, .moment = position};
  }

  void find_peak() {
    const auto& allocated = timeline_.allocated_bytes;
    std::size_t end = placed_.size();
    const auto highest = std::max_element(allocated.begin(), allocated.end());
    if (allocated.empty()) {
      timeline_.peak_bytes = total_;
      timeline_.peak_by_category_bytes = live_;
      timeline_.peak_scratch_bytes = scratch_;
    } else if (update_.bytes > *highest) {
      timeline_.peak_bytes = update_.bytes;
      timeline_.peak_by_category_bytes = update_.by_category;
      timeline_.peak_scratch_bytes = update_.scratch_bytes;
      end = update_.moment;
    } else {
      const auto at = static_cast<std::size_t>(highest - allocated.begin());
      timeline_.peak_operator = static_cast<OperatorId>(at);
      timeline_.peak_bytes = *highest;
      timeline_.peak_by_category_bytes = timeline_.by_category_bytes[at];
      timeline_.peak_scratch_bytes = timeline_.scratch_bytes[at];
      end = moment_[at];
    }
    for (const ByCategory& bytes : timeline_.by_category_bytes) {
      timeline_.activations_peak_bytes =
          std::max(timeline_.activations_peak_bytes, bytes[index_of(Category::kActivation)]);
    }
    list_live(end);
  }

  /// Lists what is alive after the first `end` events.
  void list_live(std::size_t end) {
    std::map<std::int32_t, const PlacedEvent*> live;  // by allocation
    for (std::size_t i = 0; i < end; ++i) {
      const PlacedEvent& event = placed_[i];
      if (event.allocation < 0) continue;
      if (event.action == Action::kAllocate) {
        live[event.allocation] = &event;
      } else {
        live.erase(event.allocation);
      }
    }
    for (const auto& entry : live) {
      const PlacedEvent& event = *entry.second;
      const TrainingAllocation& allocation = allocation_of(event);
      if (allocation.scratch) {
        const OperatorId call = allocation.at < operators_ ? allocation.at : -1;
        timeline_.scratch_at_peak.push_back({call, event.at < 0, event.bytes});
      } else if (allocation.storage >= 0) {
        timeline_.live_at_peak.push_back({allocation.storage, event.bytes});
      } else {
        timeline_.optimizer_state_at_peak.push_back(
            {allocation.parameter, allocation.part, allocation.dtype, event.bytes});
      }
    }
    std::sort(timeline_.live_at_peak.begin(),
              timeline_.live_at_peak.end(),
              [](const LiveStorage& a, const LiveStorage& b) {
                return a.bytes != b.bytes ? a.bytes > b.bytes : a.storage < b.storage;
              });
    std::stable_sort(timeline_.optimizer_state_at_peak.begin(),
                     timeline_.optimizer_state_at_peak.end(),
                     [](const LiveOptimizerTensor& a, const LiveOptimizerTensor& b) {
                       return a.parameter < b.parameter;
                     });
  }

  OperatorId operators_;
  const TrainingEvents& events_;
  const std::vector<PlacedEvent>& placed_;
  ByCategory live_{};
  std::int64_t scratch_ = 0, total_ = 0;
  std::vector<std::size_t> moment_;  ///< by operator: number of events before its highest state
  struct Highest {
    std::int64_t bytes = 0;
    ByCategory by_category{};
    std::int64_t scratch_bytes = 0;
    std::size_t moment = 0;
  } update_;  ///< after the last operator
  Timeline timeline_;
};

}  // namespace

Timeline timeline_of(const Program& program,
                     const TrainingEvents& events,
                     const std::vector<PlacedEvent>& placed) {
  return TimelineBuilder(program, events, placed).build();
}

TrainingStep predict_step(const Program& program,
                          program::OptimizerUse use,
                          const operators::WorkspaceTable& table,
                          const AllocatorConfig& config,
                          std::int64_t gpus) {
  // The first step allocates what stays. The second one is like all later steps.
  constexpr int kDifferentSteps = 2;
  require_possible_update(program, use);
  TrainingStep step;
  step.memory = summarise(program, use);
  step.with_scratch = program.target.kind == program::Target::Kind::kCuda;
  if (!step.with_scratch) {
    step.events = training_events(program, use, operators::plain_scripts(program), kDifferentSteps);
    step.placed = place_in_one_segment(step.events);
    step.timeline = timeline_of(program, step.events, step.placed);
    return step;
  }
  const operators::CudaTraits traits = operators::cuda_traits(program.target);
  const std::vector<operators::CallScript> scripts =
      operators::call_scripts(program, traits, table);
  step.events = training_events(program, use, scripts, kDifferentSteps);
  SimulatedStep simulated = place_in_caching_allocator(step.events, config);
  step.placed = std::move(simulated.placed);
  step.timeline = timeline_of(program, step.events, step.placed);
  step.memory.certainty = certainty_of(program, scripts, use, table, step.timeline);
  for (const LiveScratch& live : step.timeline.scratch_at_peak) {
    std::optional<program::OperatorId> made_at;
    if (live.made_at >= 0) made_at = live.made_at;
    step.memory.workspaces_at_peak.push_back({.made_at = made_at, .bytes = live.bytes});
  }
  step.memory.peak_allocated_bytes = simulated.training.peak_allocated_bytes;
  step.memory.peak_reserved_bytes = simulated.training.peak_reserved_bytes;
  step.gpus = gpus;
  step.nccl_bytes = traits.nccl_bytes(gpus);
  const auto overhead_bytes = traits.process_overhead_bytes();
  step.process_was_measured = overhead_bytes.has_value();
  if (overhead_bytes && step.nccl_bytes) {
    step.memory.process_peak_bytes =
        simulated.training.peak_reserved_bytes + *overhead_bytes + *step.nccl_bytes;
  }
  require(step.timeline.peak_bytes == simulated.training.peak_allocated_bytes,
          "the timeline's peak is not the allocator's");
  return step;
}

}  // namespace elixir::memory
