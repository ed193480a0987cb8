// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/recorded/trace_simulation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "memory/recorded/trace_text.h"

namespace elixir::memory {
namespace {

using Kind = RecordedEvent::Kind;
using DeviceKind = DeviceEvent::Kind;

/// The device events of one request: the recorded ones, and those of the simulator so far.
struct Batch {
  std::vector<DeviceEvent> recorded;
  std::vector<std::size_t> positions;  ///< positions of `recorded` in RecordedTrace::events
  std::vector<DeviceEvent> simulated;

  /// The recorded event that the simulator should produce next.
  [[nodiscard]] const DeviceEvent* expected() const {
    return simulated.size() < recorded.size() ? &recorded[simulated.size()] : nullptr;
  }
  void clear() {
    recorded.clear();
    positions.clear();
    simulated.clear();
  }
};

/// Gives new segments their recorded addresses. After the first difference any address is right,
/// because the comparison ends there.
class RecordedDevice final : public DeviceMemory {
 public:
  RecordedDevice(const Batch& batch, std::int64_t capacity_bytes)
      : batch_(batch), free_bytes_(capacity_bytes) {}
  std::optional<Address> allocate(std::int64_t bytes) override {
    if (!take(bytes)) return std::nullopt;
    const DeviceEvent* expected = batch_.expected();
    const bool known = expected != nullptr && expected->kind == DeviceKind::kAllocate;
    return known ? expected->address : elsewhere(bytes);
  }
  void free(Address /*address*/, std::int64_t bytes) override { free_bytes_ += bytes; }
  /// The first pages of a range are mapped at its beginning immediately.
  Address reserve_range(std::int64_t bytes) override {
    const DeviceEvent* expected = batch_.expected();
    const bool known = expected != nullptr && expected->kind == DeviceKind::kMap;
    return known ? expected->address : elsewhere(bytes);
  }
  void free_range(Address /*address*/, std::int64_t /*bytes*/) override {}
  bool map(Address /*address*/, std::int64_t bytes, std::int64_t /*page_bytes*/) override {
    return take(bytes);
  }
  void unmap(Address /*address*/, std::int64_t bytes) override { free_bytes_ += bytes; }

 private:
  bool take(std::int64_t bytes) {
    if (bytes > free_bytes_) return false;
    free_bytes_ -= bytes;
    return true;
  }
  Address elsewhere(std::int64_t bytes) {
    const Address address = next_;
    next_ += static_cast<Address>(bytes);
    return address;
  }
  const Batch& batch_;
  std::int64_t free_bytes_;
  Address next_ = Address{1} << 60;
};

class TraceSimulator {
 public:
  TraceSimulator(const RecordedTrace& trace, const AllocatorConfig& config)
      : trace_(trace),
        allocator_(config,
                   DeviceLimits{trace.device_bytes, trace.allowed_bytes, std::nullopt},
                   std::make_unique<RecordedDevice>(batch_, trace.capacity_bytes)) {
    allocator_.on_device_event([this](const DeviceEvent& event) {
      if (event.kind != DeviceKind::kOutOfMemory) batch_.simulated.push_back(event);
    });
  }

  TraceSimulation run() {
    for (at_ = 0; at_ < trace_.events.size() && !result_.difference; ++at_) {
      step(trace_.events[at_]);
    }
    at_ = trace_.events.size();
    if (!result_.difference) settle();
    if (!result_.difference) compare_segments();
    result_.statistics = allocator_.statistics();
    return std::move(result_);
  }

 private:
  void step(const RecordedEvent& event) {
    switch (event.kind) {
      case Kind::kDevice:
        batch_.recorded.push_back(event.device);
        batch_.positions.push_back(at_);
        return;
      case Kind::kAllocate:
      case Kind::kOutOfMemory:
        request(event);
        return;
      case Kind::kFreeCompleted:
        completed(event.allocation);
        return;
      case Kind::kFree:
      case Kind::kFreeRequested:
        settle();
        free(event);
        return;
      case Kind::kEmptyCache:
        settle();
        allocator_.empty_cache();
        pending_.clear();  // an empty cache waits for all events
        return;
      case Kind::kPeaks:
        settle();
        compare_peaks(event);
        return;
    }
  }

  void completed(std::int64_t allocation) {
    if (pending_.count(allocation) == 0) return;  // the simulator has already waited for it
    if (comes_from_retry()) {
      completed_by_retry_.push_back(allocation);
      return;
    }
    settle();
    pending_.erase(allocation);
    allocator_.complete_free(ids_[static_cast<std::size_t>(allocation)]);
  }

  /// A request that finds no memory waits for all events before it frees the cache, and so does the
  /// simulated one. Frees that complete because of that are followed by the freeing, or by the
  /// failure.
  [[nodiscard]] bool comes_from_retry() const {
    for (std::size_t next = at_ + 1; next < trace_.events.size(); ++next) {
      const RecordedEvent& event = trace_.events[next];
      if (event.kind == Kind::kFreeCompleted) continue;
      return event.kind == Kind::kOutOfMemory ||
             (event.kind == Kind::kDevice &&
              (event.device.kind == DeviceKind::kFree || event.device.kind == DeviceKind::kUnmap));
    }
    return false;
  }

  /// After a request: the frees that it waited for are complete.
  void finish_retry(bool retried) {
    if (retried) pending_.clear();
    for (const std::int64_t allocation : completed_by_retry_) {
      if (pending_.erase(allocation) == 0) continue;
      allocator_.complete_free(ids_[static_cast<std::size_t>(allocation)]);
    }
    completed_by_retry_.clear();
  }

  void request(const RecordedEvent& event) {
    const std::int64_t retries = allocator_.statistics().retries;
    const AllocationResult result = allocator_.allocate(event.bytes, event.stream);
    finish_retry(allocator_.statistics().retries > retries);
    settle();
    if (result_.difference) return;
    const auto* allocation = std::get_if<AllocatedBlock>(&result);
    const bool wanted = event.kind == Kind::kAllocate;
    if ((allocation != nullptr) != wanted) {
      const std::string request = fmt::format("{} {}", event.bytes, event.stream);
      differ(at_, (wanted ? "a " : "oom ") + request, (wanted ? "oom " : "a ") + request);
      return;
    }
    if (!wanted) return;
    ids_.push_back(allocation->id);
    if (event.address && *event.address != allocation->address) {
      differ(at_,
             fmt::format("a {} {} @{:x}", event.bytes, event.stream, *event.address),
             fmt::format("a {} {} @{:x}", event.bytes, event.stream, allocation->address));
    }
  }

  void free(const RecordedEvent& event) {
    const AllocationId id = ids_[static_cast<std::size_t>(event.allocation)];
    // Any stream except the block's own delays the free.
    if (event.kind == Kind::kFreeRequested) {
      allocator_.record_stream(id, kOtherStream);
      pending_.insert(event.allocation);
    }
    allocator_.free(id);
  }

  /// Compares what both did since the last request.
  void settle() {
    if (result_.difference) return;
    const std::size_t count = std::max(batch_.recorded.size(), batch_.simulated.size());
    for (std::size_t i = 0; i < count; ++i) {
      const bool recorded = i < batch_.recorded.size();
      const bool simulated = i < batch_.simulated.size();
      if (recorded && simulated && batch_.recorded[i] == batch_.simulated[i]) continue;
      differ(recorded ? batch_.positions[i] : at_,
             recorded ? line_of(batch_.recorded[i]) : "nothing on the device",
             simulated ? line_of(batch_.simulated[i]) : "nothing on the device");
      return;
    }
    result_.compared_device_events += static_cast<std::int64_t>(count);
    batch_.clear();
  }

  void compare_peaks(const RecordedEvent& event) {
    if (result_.difference) return;
    const AllocatorStatistics& now = allocator_.statistics();
    const std::array<std::int64_t, 4> simulated{
        now.allocated.peak, now.reserved.peak, now.allocated.current, now.reserved.current};
    if (simulated != event.peaks) differ(at_, line_of(event.peaks), line_of(simulated));
    allocator_.reset_peaks();
  }

  void compare_segments() {
    if (!trace_.final_segments) return;
    const std::vector<SegmentInfo> simulated = allocator_.snapshot();
    const std::vector<SegmentInfo>& recorded = *trace_.final_segments;
    for (std::size_t i = 0; i < std::max(recorded.size(), simulated.size()); ++i) {
      const std::string expected = i < recorded.size() ? line_of(recorded[i]) : "no segment";
      const std::string found = i < simulated.size() ? line_of(simulated[i]) : "no segment";
      if (expected == found) continue;
      differ(at_, expected, found);
      return;
    }
  }

  void differ(std::size_t event, std::string expected, std::string simulated) {
    const int line = event < trace_.events.size() ? trace_.events[event].line : 0;
    result_.difference = TraceDifference{event, line, std::move(expected), std::move(simulated)};
  }

  static constexpr StreamId kOtherStream = -1;

  const RecordedTrace& trace_;
  Batch batch_;  // before the allocator, because its device reads it
  CachingAllocator allocator_;
  std::size_t at_ = 0;
  std::vector<AllocationId> ids_;   ///< by allocation of the trace
  std::set<std::int64_t> pending_;  ///< allocations of the trace whose free is pending
  std::vector<std::int64_t> completed_by_retry_;
  TraceSimulation result_;
};

}  // namespace

TraceSimulation simulate_trace(const RecordedTrace& trace, const AllocatorConfig& config) {
  return TraceSimulator(trace, config).run();
}

TraceSimulation simulate_trace(const RecordedTrace& trace) {
  return simulate_trace(trace, trace.config);
}

}  // namespace elixir::memory
