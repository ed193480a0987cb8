// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/trace/memory_snapshot.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "program/names/labels.h"
#include "report/profile/layers.h"
#include "report/trace/pickle_writer.h"

namespace elixir::report {
namespace {

using memory::PlacedEvent;
using memory::TrainingAllocation;
using Action = PlacedEvent::Action;

/// The minimum size of segments in LibTorch's large pool (kMinLargeAlloc).
constexpr std::int64_t kLargeSegmentBytes = 10_MiB;

/// The state of the device at the end of the trace.
class FinalState {
 public:
  explicit FinalState(const std::vector<PlacedEvent>& placed) {
    for (std::size_t i = 0; i < placed.size(); ++i) apply(placed[i], i);
  }

  struct Segment {
    std::int64_t bytes = 0;
    bool expandable = false;
    std::map<std::int64_t, std::size_t> blocks;  ///< by address: position of the allocating event
  };
  [[nodiscard]] const std::map<std::int64_t, Segment>& segments() const { return segments_; }

 private:
  Segment& around(const PlacedEvent& event) {
    auto after = segments_.upper_bound(event.address);
    require(after != segments_.begin(), "a block outside every segment");
    auto& [address, segment] = *std::prev(after);
    require(event.address + event.bytes <= address + segment.bytes,
            "a block outside every segment");
    return segment;
  }

  void apply(const PlacedEvent& event, std::size_t position) {
    switch (event.action) {
      case Action::kSegmentAllocate:
        segments_[event.address].bytes = event.bytes;
        break;
      case Action::kSegmentMap:
        map_pages(event);
        break;
      case Action::kAllocate:
        around(event).blocks.emplace(event.address, position);
        break;
      case Action::kFree:
        require(around(event).blocks.erase(event.address) == 1, "a block released twice");
        break;
    }
  }

  /// Adjacent mapped pages form one segment, because blocks may cross their border.
  void map_pages(const PlacedEvent& event) {
    const auto after = segments_.upper_bound(event.address);
    if (after != segments_.begin()) {
      auto& [address, before] = *std::prev(after);
      if (before.expandable && address + before.bytes == event.address) {
        before.bytes += event.bytes;
        join_next(address);
        return;
      }
    }
    segments_[event.address] = {event.bytes, true, {}};
    join_next(event.address);
  }
  void join_next(std::int64_t address) {
    Segment& segment = segments_.at(address);
    const auto next = segments_.find(address + segment.bytes);
    if (next == segments_.end() || !next->second.expandable) return;
    segment.bytes += next->second.bytes;
    segment.blocks.merge(next->second.blocks);
    segments_.erase(next);
  }

  std::map<std::int64_t, Segment> segments_;
};

class SnapshotWriter {
 public:
  SnapshotWriter(const program::Program& program,
                 const memory::TrainingEvents& events,
                 const std::vector<PlacedEvent>& placed,
                 const Sink& sink)
      : program_(program), events_(events), placed_(placed), labels_(program), pickle_(sink) {}

  void write() {
    pickle_.begin_dict();
    pickle_.text("device_traces");
    pickle_.begin_list();
    write_trace();
    pickle_.end_list();
    pickle_.text("segments");
    pickle_.begin_list();
    const FinalState end(placed_);
    for (const auto& [address, segment] : end.segments()) {
      write_segment(address, segment);
    }
    pickle_.end_list();
    pickle_.end_dict();
    pickle_.finish();
  }

 private:
  [[nodiscard]] const TrainingAllocation& allocation_of(const PlacedEvent& event) const {
    return events_.allocations.at(static_cast<std::size_t>(event.allocation));
  }

  void member(std::string_view key, std::string_view value) {
    pickle_.text(key);
    pickle_.text(value);
  }
  void member(std::string_view key, std::int64_t value) {
    pickle_.text(key);
    pickle_.integer(value);
  }

  void frame(const std::string& filename, std::int64_t line, std::string_view name) {
    pickle_.begin_dict();
    member("filename", filename);
    member("line", line);
    member("name", name);
    pickle_.end_dict();
  }

  /// Whether it is a call, not a time before the step or after its last call.
  [[nodiscard]] bool is_operator(program::OperatorId at) const {
    return at >= 0 && static_cast<std::size_t>(at) < program_.operators.size();
  }

  void operator_frame(program::OperatorId id) {
    const program::Operator& op = program_.operators[static_cast<std::size_t>(id)];
    frame(program::module_label(program_, op), id, op.name);
  }

  static Layer layer_of(const TrainingAllocation& allocation) {
    return allocation.scratch ? Layer() : Layer(allocation.category);
  }

  void write_frames(const TrainingAllocation& allocation) {
    const std::string layer = layer_label(layer_of(allocation));
    pickle_.begin_list();
    if (allocation.scratch && !is_operator(allocation.at)) {
      frame("the optimizer's update", 0, layer);
    } else if (allocation.scratch) {
      operator_frame(allocation.at);
      frame("scratch memory", 0, layer);
    } else if (allocation.storage < 0) {
      const program::Parameter& parameter =
          program_.parameters[static_cast<std::size_t>(allocation.parameter)];
      frame(parameter.name, 0, name_of(allocation.part));
      frame(program::geometry_of(parameter.tensor), 0, layer);
    } else {
      const program::StorageLabel label = labels_.of(allocation.storage);
      if (allocation.at >= 0) {
        operator_frame(allocation.at);
      } else {
        frame(label.origin, 0, layer);
      }
      frame(label.tensor, allocation.storage, layer);
    }
    pickle_.end_list();
  }

  /// The frames of an allocation are written once, because its block has the same frames.
  void frames_of(const PlacedEvent& event) {
    pickle_.text("frames");
    if (const auto found = frames_.find(event.allocation); found != frames_.end()) {
      pickle_.again(found->second);
      return;
    }
    write_frames(allocation_of(event));
    frames_.emplace(event.allocation, pickle_.remember());
  }

  void begin_event(std::string_view action, std::int64_t address, std::int64_t bytes) {
    pickle_.begin_dict();
    member("action", action);
    member("addr", address);
    member("size", bytes);
    member("stream", 0);
    member("time_us", time_++);
  }

  void write_free(const PlacedEvent& event) {
    std::optional<std::uint32_t> frames;
    for (const std::string_view action : {"free_requested", "free_completed"}) {
      begin_event(action, event.address, allocation_of(event).bytes);
      pickle_.text("frames");
      if (frames) {
        pickle_.again(*frames);
      } else {
        pickle_.begin_list();
        if (is_operator(event.at)) operator_frame(event.at);
        pickle_.end_list();
        frames = pickle_.remember();
      }
      pickle_.end_dict();
    }
  }

  void write_trace() {
    pickle_.begin_list();
    for (const PlacedEvent& event : placed_) {
      switch (event.action) {
        case Action::kAllocate: {
          const TrainingAllocation& allocation = allocation_of(event);
          begin_event("alloc", event.address, allocation.bytes);
          member("category", layer_label(layer_of(allocation)));
          frames_of(event);
          pickle_.end_dict();
          break;
        }
        case Action::kFree:
          write_free(event);
          break;
        case Action::kSegmentAllocate:
        case Action::kSegmentMap:
          begin_event(event.action == Action::kSegmentAllocate ? "segment_alloc" : "segment_map",
                      event.address,
                      event.bytes);
          pickle_.text("frames");
          pickle_.begin_list();
          if (is_operator(event.at)) operator_frame(event.at);
          pickle_.end_list();
          pickle_.end_dict();
          break;
      }
    }
    // As after a real dump. The category is needed because the viewer fails on a trace with
    // categories if none of them is "unknown".
    begin_event("snapshot", 0, 0);
    member("category", "unknown");
    end_without_frames();
    pickle_.end_list();
  }

  void end_without_frames() {
    pickle_.text("frames");
    pickle_.begin_list();
    pickle_.end_list();
    pickle_.end_dict();
  }

  void inactive_block(std::int64_t address, std::int64_t bytes) {
    pickle_.begin_dict();
    member("address", address);
    member("size", bytes);
    member("requested_size", 0);
    member("state", "inactive");
    end_without_frames();
  }

  void write_segment(std::int64_t address, const FinalState::Segment& segment) {
    std::int64_t allocated = 0;
    std::int64_t requested = 0;
    for (const auto& entry : segment.blocks) {
      allocated += placed_[entry.second].bytes;
      requested += allocation_of(placed_[entry.second]).bytes;
    }
    pickle_.begin_dict();
    member("device", 0);
    member("address", address);
    member("total_size", segment.bytes);
    member("allocated_size", allocated);
    member("active_size", allocated);
    member("requested_size", requested);
    member("stream", 0);
    member("segment_type", segment.bytes < kLargeSegmentBytes ? "small" : "large");
    pickle_.text("is_expandable");
    pickle_.boolean(segment.expandable);
    pickle_.text("frames");
    pickle_.begin_list();
    pickle_.end_list();
    pickle_.text("blocks");
    pickle_.begin_list();
    std::int64_t end = address;
    for (const auto& [start, position] : segment.blocks) {
      const PlacedEvent& event = placed_[position];
      if (start > end) inactive_block(end, start - end);
      pickle_.begin_dict();
      member("address", start);
      member("size", event.bytes);
      member("requested_size", allocation_of(event).bytes);
      member("state", "active_allocated");
      frames_of(event);
      pickle_.end_dict();
      end = start + event.bytes;
    }
    if (end < address + segment.bytes) inactive_block(end, address + segment.bytes - end);
    pickle_.end_list();
    pickle_.end_dict();
  }

  const program::Program& program_;
  const memory::TrainingEvents& events_;
  const std::vector<PlacedEvent>& placed_;
  program::StorageLabels labels_;
  PickleWriter pickle_;
  std::unordered_map<std::int32_t, std::uint32_t> frames_;  // by allocation
  std::int64_t time_ = 0;
};

}  // namespace

void write_memory_snapshot(const program::Program& program,
                           const memory::TrainingEvents& events,
                           const std::vector<PlacedEvent>& placed,
                           const Sink& sink) {
  SnapshotWriter(program, events, placed, sink).write();
}

}  // namespace elixir::report
