// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/libtorch/allocator_pair.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <variant>

#include "memory/libtorch/fake_cuda.h"

// libtorch_cuda sets it, but is not linked here. No header declares it.
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*has_context)(DeviceIndex));
}

namespace elixir::tests {
namespace {

namespace real = c10::cuda::CUDACachingAllocator;
using memory::Address;
using memory::DeviceEvent;
using memory::RecordedEvent;
using memory::StreamId;
using Action = real::TraceEntry::Action;

/// Streams are handles ordered by their value. LibTorch needs aligned ones.
constexpr std::uint64_t kStreamStep = 4096;
constexpr int kDevice = 0;

void* handle_of(StreamId stream) {
  return reinterpret_cast<void*>(static_cast<std::uint64_t>(stream) * kStreamStep);
}
StreamId stream_of(const void* handle) {
  return static_cast<StreamId>(reinterpret_cast<std::uint64_t>(handle) / kStreamStep);
}
Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

/// The simulator's device. It uses the same heap as the fake CUDA runtime.
class HeapDevice final : public memory::DeviceMemory {
 public:
  HeapDevice(std::int64_t capacity_bytes, std::uint64_t seed) : heap_(capacity_bytes, seed) {}
  std::optional<Address> allocate(std::int64_t bytes) override { return heap_.allocate(bytes); }
  void free(Address address, std::int64_t bytes) override {
    heap_.give(bytes);
    heap_.release(address);
  }
  Address reserve_range(std::int64_t bytes) override { return heap_.reserve(bytes); }
  void free_range(Address address, std::int64_t /*bytes*/) override { heap_.release(address); }
  bool map(Address /*address*/, std::int64_t bytes, std::int64_t /*page_bytes*/) override {
    return heap_.take(bytes);
  }
  void unmap(Address /*address*/, std::int64_t bytes) override { heap_.give(bytes); }

 private:
  AddressHeap heap_;
};

DeviceEvent::Kind device_kind(Action action) {
  switch (action) {
    case Action::SEGMENT_ALLOC:
      return DeviceEvent::Kind::kAllocate;
    case Action::SEGMENT_FREE:
      return DeviceEvent::Kind::kFree;
    case Action::SEGMENT_MAP:
      return DeviceEvent::Kind::kMap;
    case Action::SEGMENT_UNMAP:
      return DeviceEvent::Kind::kUnmap;
    default:
      return DeviceEvent::Kind::kOutOfMemory;
  }
}

/// Records what LibTorch's allocator reports, as events of a trace. There is one per process,
/// because a tracker cannot be detached.
class Recorder {
 public:
  static Recorder& instance() {
    static Recorder recorder;
    return recorder;
  }

  void clear() {
    events.clear();
    device_events.clear();
    by_address_.clear();
    allocations_ = 0;
  }
  void add(RecordedEvent::Kind kind) {
    RecordedEvent event;
    event.kind = kind;
    events.push_back(event);
  }

  std::vector<RecordedEvent> events;
  std::vector<DeviceEvent> device_events;  ///< since the last comparison

 private:
  Recorder() {
    c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
    real::init(1);
    real::get()->attachAllocatorTraceTracker(
        [this](const real::TraceEntry& entry) { note(entry); });
  }

  void note(const real::TraceEntry& entry) {
    RecordedEvent event;
    event.bytes = static_cast<std::int64_t>(entry.size_);
    event.stream = stream_of(entry.stream_);
    switch (entry.action_) {
      case Action::ALLOC:
        event.kind = RecordedEvent::Kind::kAllocate;
        event.address = entry.addr_;
        event.allocation = allocations_++;
        by_address_[entry.addr_] = event.allocation;
        break;
      case Action::FREE_REQUESTED:
        event.kind = RecordedEvent::Kind::kFreeRequested;
        event.allocation = by_address_.at(entry.addr_);
        break;
      case Action::FREE_COMPLETED:
        event.kind = RecordedEvent::Kind::kFreeCompleted;
        event.allocation = by_address_.at(entry.addr_);
        if (!events.empty() && events.back().kind == RecordedEvent::Kind::kFreeRequested &&
            events.back().allocation == event.allocation) {
          events.back().kind = RecordedEvent::Kind::kFree;
          return;
        }
        break;
      case Action::SNAPSHOT:
        return;
      case Action::OOM:
        event.kind = RecordedEvent::Kind::kOutOfMemory;
        device_events.push_back({DeviceEvent::Kind::kOutOfMemory, event.bytes, event.stream, 0});
        break;
      default:
        event.kind = RecordedEvent::Kind::kDevice;
        event.device = {device_kind(entry.action_), event.bytes, event.stream, entry.addr_};
        device_events.push_back(event.device);
        break;
    }
    events.push_back(event);
  }

  std::unordered_map<std::uint64_t, std::int64_t> by_address_;
  std::int64_t allocations_ = 0;
};

std::string text_of(const DeviceEvent& event) {
  return fmt::format("kind {} bytes {} stream {} address {:x}",
                     static_cast<int>(event.kind),
                     event.bytes,
                     event.stream,
                     event.address);
}

constexpr std::size_t kAll = 0;  // StatType::AGGREGATE

std::vector<memory::SegmentInfo> segments_of(const real::SnapshotInfo& snapshot) {
  std::vector<memory::SegmentInfo> segments;
  for (const real::SegmentInfo& from : snapshot.segments) {
    memory::SegmentInfo& to = segments.emplace_back();
    to.address = from.address;
    to.bytes = static_cast<std::int64_t>(from.total_size);
    to.stream = stream_of(from.stream);
    to.small_pool = !from.is_large;
    to.expandable = from.is_expandable;
    Address address = from.address;
    for (const real::BlockInfo& block : from.blocks) {
      const auto state = block.allocated ? memory::BlockState::kAllocated
                         : block.active  ? memory::BlockState::kPendingFree
                                         : memory::BlockState::kFree;
      to.blocks.push_back({address,
                           static_cast<std::int64_t>(block.size),
                           static_cast<std::int64_t>(block.requested_size),
                           state});
      address += block.size;
    }
  }
  return segments;
}

}  // namespace

AllocatorPair::AllocatorPair(const PairOptions& options) : options_(options) {
  Recorder& recorder = Recorder::instance();
  real::emptyCache();
  const memory::AllocatorConfig config = memory::AllocatorConfig::parse(options.config);
  // In LibTorch, options that are not given keep their values. For these two, no text resets them.
  std::string text = options.config;
  if (text.find("expandable_segments") == std::string::npos) {
    text += text.empty() ? "expandable_segments:False" : ",expandable_segments:False";
  }
  if (text.find("large_segment_size_mb") == std::string::npos) text += ",large_segment_size_mb:20";
  c10::CachingAllocator::setAllocatorSettings(text);
  real::setMemoryFraction(static_cast<double>(options.allowed_1024ths) / 1024, kDevice);
  fake_cuda::reset(options.capacity_bytes, options.seed);
  real::resetPeakStats(kDevice);
  real::resetAccumulatedStats(kDevice);
  recorder.clear();

  memory::DeviceLimits limits;
  limits.total_bytes = fake_cuda::kTotalBytes;
  if (options.allowed_1024ths < 1024) {
    limits.allowed_bytes = fake_cuda::kTotalBytes / 1024 * options.allowed_1024ths;
  }
  simulator_ = std::make_unique<memory::CachingAllocator>(
      config, limits, std::make_unique<HeapDevice>(options.capacity_bytes, options.seed));
  simulator_->on_device_event([this](const DeviceEvent& event) { simulated_.push_back(event); });
}

AllocatorPair::~AllocatorPair() {
  for (const Live& live : allocations_) {
    if (live.pointer != nullptr) real::raw_delete(live.pointer);
  }
  real::emptyCache();
}

std::optional<std::size_t> AllocatorPair::allocate(std::int64_t bytes, StreamId stream) {
  Live live;
  try {
    live.pointer = real::raw_alloc_with_stream(static_cast<std::size_t>(bytes),
                                               static_cast<cudaStream_t>(handle_of(stream)));
  } catch (const c10::OutOfMemoryError&) {
    live.pointer = nullptr;
  }
  const memory::AllocationResult result = simulator_->allocate(bytes, stream);
  const auto* allocation = std::get_if<memory::AllocatedBlock>(&result);
  const Address simulated = allocation == nullptr ? 0 : allocation->address;
  if (address_of(live.pointer) != simulated) {
    problem_ = fmt::format("{} bytes on stream {}: LibTorch gives {:x}, the simulator {:x}",
                           bytes,
                           stream,
                           address_of(live.pointer),
                           simulated);
  }
  if (live.pointer == nullptr) return std::nullopt;
  // A trace contains the requested size, not the block's size.
  if (Recorder::instance().events.back().bytes != bytes) {
    problem_ = fmt::format("LibTorch traces {} bytes for a request of {}",
                           Recorder::instance().events.back().bytes,
                           bytes);
  }
  if (allocation != nullptr) live.id = allocation->id;
  allocations_.push_back(live);
  return allocations_.size() - 1;
}

void AllocatorPair::free(std::size_t allocation) {
  Live& live = allocations_.at(allocation);
  real::raw_delete(live.pointer);
  live.pointer = nullptr;
  simulator_->free(live.id);
}

void AllocatorPair::record_stream(std::size_t allocation, StreamId stream) {
  const Live& live = allocations_.at(allocation);
  // The object that LibTorch requires does not own the pointer.
  c10::DataPtr pointer(live.pointer,
                       live.pointer,
                       real::get()->raw_deleter(),
                       c10::Device(c10::DeviceType::CUDA, kDevice));
  const auto used_by =
      c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(handle_of(stream)), kDevice);
  real::recordStream(pointer, used_by);
  pointer.release_context();
  simulator_->record_stream(live.id, stream);
}

void AllocatorPair::complete_events(StreamId stream) {
  fake_cuda::complete(address_of(handle_of(stream)));
  simulator_->complete_events(stream);
}

void AllocatorPair::empty_cache() {
  Recorder::instance().add(RecordedEvent::Kind::kEmptyCache);
  real::emptyCache();
  simulator_->empty_cache();
}

std::string AllocatorPair::difference() {
  if (!problem_.empty()) return problem_;
  std::vector<DeviceEvent>& expected = Recorder::instance().device_events;
  for (std::size_t i = 0; i < std::max(expected.size(), simulated_.size()); ++i) {
    const std::string left = i < expected.size() ? text_of(expected[i]) : "nothing";
    const std::string right = i < simulated_.size() ? text_of(simulated_[i]) : "nothing";
    if (left != right) return fmt::format("LibTorch: {}; simulator: {}", left, right);
  }
  expected.clear();
  simulated_.clear();

  const auto stats = real::getDeviceStats(kDevice);
  const memory::AllocatorStatistics& mine = simulator_->statistics();
  const auto gauge = [](const char* name,
                        const c10::CachingAllocator::StatArray& theirs,
                        const memory::Gauge& ours) -> std::string {
    if (theirs[kAll].current == ours.current && theirs[kAll].peak == ours.peak) return "";
    return fmt::format("{}: LibTorch {} (peak {}), simulator {} (peak {})",
                       name,
                       theirs[kAll].current,
                       theirs[kAll].peak,
                       ours.current,
                       ours.peak);
  };
  for (const std::string& text : {gauge("allocated", stats.allocated_bytes, mine.allocated),
                                  gauge("requested", stats.requested_bytes, mine.requested),
                                  gauge("active", stats.active_bytes, mine.active),
                                  gauge("reserved", stats.reserved_bytes, mine.reserved)}) {
    if (!text.empty()) return text;
  }
  // The peak of inactive split bytes depends on the order in which streams' events are noticed,
  // which is that of a hash table.
  const std::string theirs = fmt::format("inactive split {} device calls {} {} retries {} ooms {}",
                                         stats.inactive_split_bytes[kAll].current,
                                         stats.num_device_alloc,
                                         stats.num_device_free,
                                         stats.num_alloc_retries,
                                         stats.num_ooms);
  const std::string ours = fmt::format("inactive split {} device calls {} {} retries {} ooms {}",
                                       mine.inactive_split.current,
                                       mine.device_allocations,
                                       mine.device_frees,
                                       mine.retries,
                                       mine.out_of_memory);
  if (theirs != ours) return fmt::format("LibTorch: {}; simulator: {}", theirs, ours);
  return "";
}

std::string AllocatorPair::snapshot_difference() {
  const auto theirs = segments_of(real::snapshot());
  const auto ours = simulator_->snapshot();
  const auto text = [](const std::vector<memory::SegmentInfo>& segments) {
    std::string lines;
    for (const memory::SegmentInfo& segment : segments) {
      lines += fmt::format("{:x} {} stream {} {} {}:",
                           segment.address,
                           segment.bytes,
                           segment.stream,
                           segment.small_pool ? "small" : "large",
                           segment.expandable ? "expandable" : "fixed");
      for (const memory::BlockInfo& block : segment.blocks) {
        // In a free block, LibTorch leaves the size of the last request.
        const bool free = block.state == memory::BlockState::kFree;
        lines += fmt::format(" {:x}+{} {} {}",
                             block.address,
                             block.bytes,
                             static_cast<int>(block.state),
                             free ? 0 : block.requested_bytes);
      }
      lines += '\n';
    }
    return lines;
  };
  const std::string left = text(theirs);
  const std::string right = text(ours);
  if (left == right) return "";
  return fmt::format("LibTorch:\n{}simulator:\n{}", left, right);
}

memory::RecordedTrace AllocatorPair::trace() {
  memory::RecordedTrace trace;
  trace.config = memory::AllocatorConfig::parse(options_.config);
  trace.device_bytes = fake_cuda::kTotalBytes;
  trace.capacity_bytes = options_.capacity_bytes;
  if (options_.allowed_1024ths < 1024) {
    trace.allowed_bytes = fake_cuda::kTotalBytes / 1024 * options_.allowed_1024ths;
  }
  trace.events = Recorder::instance().events;
  const auto stats = real::getDeviceStats(kDevice);
  RecordedEvent peaks;
  peaks.kind = RecordedEvent::Kind::kPeaks;
  peaks.peaks = {stats.allocated_bytes[kAll].peak,
                 stats.reserved_bytes[kAll].peak,
                 stats.allocated_bytes[kAll].current,
                 stats.reserved_bytes[kAll].current};
  trace.events.push_back(peaks);
  trace.final_segments = segments_of(real::snapshot());
  return trace;
}

}  // namespace elixir::tests
