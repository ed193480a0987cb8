// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocator/caching_allocator.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "memory/allocator/rounding.h"
#include "memory/allocator/state.h"

namespace elixir::memory {

void grow(Gauge& gauge, std::int64_t bytes) {
  gauge.current += bytes;
  gauge.peak = std::max(gauge.peak, gauge.current);
}

void shrink(Gauge& gauge, std::int64_t bytes) {
  gauge.current -= bytes;
}

CachingAllocator::State::State(const AllocatorConfig& config,
                               const DeviceLimits& limits,
                               std::unique_ptr<DeviceMemory> device)
    : config_(config),
      total_bytes_(limits.total_bytes),
      allowed_bytes_(limits.allowed_bytes),
      device_(std::move(device)),
      allocations_(1, nullptr) {
  require(device_ != nullptr, "a caching allocator needs a device");
  if (!allowed_bytes_ && config.per_process_memory_fraction < 1) {
    allowed_bytes_ = static_cast<std::int64_t>(config.per_process_memory_fraction *
                                               static_cast<double>(total_bytes_));
  }
}

// --- Requests ---------------------------------------------------------------------------------

AllocationResult CachingAllocator::State::allocate(std::int64_t bytes, StreamId stream) {
  require(bytes >= 0, "an allocation of negative size");
  if (bytes == 0) return AllocatedBlock{};
  process_events();
  Request request;
  request.bytes = block_bytes(bytes, config_);
  request.segment_bytes = segment_bytes(request.bytes, config_);
  request.stream = stream;
  request.pool = is_small(request.bytes) ? &small_ : &large_;

  Block* block = find_free(request);
  if (block == nullptr) {
    if (collects_garbage()) collect_garbage();
    block = new_block(request);
    if (block == nullptr && release_available(request)) block = new_block(request);
    if (block == nullptr) {
      release_cached();
      ++statistics_.retries;
      block = new_block(request);
    }
    if (block == nullptr) return fail(request, bytes);
  }
  if (should_split(block, request)) {
    block = split(block, request.bytes);
  } else if (block->is_split() && block->range == nullptr) {
    shrink(statistics_.inactive_split, block->bytes);
  }
  return hand_out(block, bytes);
}

bool CachingAllocator::State::collects_garbage() const {
  return allowed_bytes_.has_value() && config_.garbage_collection_threshold > 0;
}

Block* CachingAllocator::State::find_free(const Request& request) {
  BlockPool& pool = *request.pool;
  if (collects_garbage()) ++pool.searches;
  Block key;
  key.stream = request.stream;
  key.bytes = request.bytes;
  auto at = pool.free.lower_bound(&key);
  const auto usable = [&](auto position) {
    return position != pool.free.end() && (*position)->stream == request.stream;
  };
  if (!usable(at)) return nullptr;
  if ((*at)->range != nullptr && config_.expandable_segments) {
    // A block before unmapped address space counts with its possible size, so that blocks that
    // cannot grow are used first. As in LibTorch, only the next candidate is compared.
    const auto room = [](const Block* block) {
      const bool grows = block->next != nullptr && !block->next->mapped;
      return block->bytes + (grows ? block->next->bytes : 0);
    };
    auto next = std::next(at);
    while ((*at)->range != nullptr && usable(next) && room(*next) < room(*at)) at = next++;
  } else if ((*at)->range != nullptr) {
    do ++at;
    while (usable(at) && (*at)->range != nullptr);
    if (!usable(at)) return nullptr;
  }
  Block* block = *at;
  // Large blocks are reserved for large requests, and not for much smaller ones. No other candidate
  // is tried.
  const bool request_is_oversize = request.bytes >= config_.max_split_bytes;
  if (!request_is_oversize && block->bytes >= config_.max_split_bytes) return nullptr;
  if (request_is_oversize && block->bytes - request.bytes >= config_.max_non_split_rounding_bytes) {
    return nullptr;
  }
  pool.free.erase(at);
  return block;
}

Block* CachingAllocator::State::new_block(const Request& request) {
  // The limit counts the segment size of a request without expandable segments.
  if (allowed_bytes_ && statistics_.reserved.current + request.segment_bytes > *allowed_bytes_) {
    return nullptr;
  }
  if (config_.expandable_segments) return allocate_expandable(request);
  const auto address = device_->allocate(request.segment_bytes);
  if (!address) return nullptr;
  Block value;
  value.stream = request.stream;
  value.bytes = request.segment_bytes;
  value.address = *address;
  value.pool = request.pool;
  grow(statistics_.reserved, request.segment_bytes);
  ++statistics_.device_allocations;
  report(DeviceEvent::Kind::kAllocate, request.segment_bytes, request.stream, *address);
  return store_.make(value);
}

bool CachingAllocator::State::should_split(const Block* block, const Request& request) const {
  const std::int64_t remaining = block->bytes - request.bytes;
  if (request.pool->small || config_.expandable_segments) return remaining >= kMinBlockBytes;
  return request.bytes < config_.max_split_bytes && remaining > kMaxSmallBytes;
}

/// Splits off the low `bytes` of the block. The rest goes to the pool.
Block* CachingAllocator::State::split(Block* block, std::int64_t bytes) {
  const bool was_split = block->is_split();
  Block value;
  value.stream = block->stream;
  value.bytes = bytes;
  value.address = block->address;
  value.pool = block->pool;
  value.range = block->range;
  value.previous = block->previous;
  value.next = block;
  Block* low = store_.make(value);
  if (low->previous != nullptr) low->previous->next = low;
  block->previous = low;
  block->address += static_cast<Address>(bytes);
  block->bytes -= bytes;
  block->pool->insert(block);
  if (block->range == nullptr) {
    if (was_split) {
      shrink(statistics_.inactive_split, bytes);
    } else {
      grow(statistics_.inactive_split, block->bytes);
    }
  }
  return low;
}

AllocatedBlock CachingAllocator::State::hand_out(Block* block, std::int64_t requested_bytes) {
  block->id = static_cast<AllocationId>(allocations_.size());
  block->allocated = true;
  block->requested_bytes = requested_bytes;
  allocations_.push_back(block);
  grow(statistics_.allocated, block->bytes);
  grow(statistics_.active, block->bytes);
  grow(statistics_.requested, requested_bytes);
  return {block->id, block->bytes, block->address};
}

OutOfMemory CachingAllocator::State::fail(const Request& request, std::int64_t requested_bytes) {
  ++statistics_.out_of_memory;
  report(DeviceEvent::Kind::kOutOfMemory, request.bytes, request.stream, 0);
  OutOfMemory answer;
  answer.requested_bytes = requested_bytes;
  answer.segment_bytes = request.segment_bytes;
  answer.allocated_bytes = statistics_.allocated.current;
  answer.reserved_bytes = statistics_.reserved.current;
  answer.allowed_bytes = allowed_bytes_;
  return answer;
}

// --- Frees and events -------------------------------------------------------------------------

Block* CachingAllocator::State::block_of(AllocationId id) const {
  require(id > 0 && id < static_cast<AllocationId>(allocations_.size()) &&
              allocations_[static_cast<std::size_t>(id)] != nullptr,
          "an allocation that is not there");
  return allocations_[static_cast<std::size_t>(id)];
}

void CachingAllocator::State::free(AllocationId id) {
  if (id == 0) return;
  Block* block = block_of(id);
  require(block->allocated, "an allocation is freed twice");
  block->allocated = false;
  shrink(statistics_.allocated, block->bytes);
  if (block->used_by.empty()) {
    free_block(block);
    return;
  }
  block->pending_events = static_cast<int>(block->used_by.size());
  for (const StreamId stream : block->used_by) events_[stream].push_back(id);
  block->used_by.clear();
}

void CachingAllocator::State::record_stream(AllocationId id, StreamId stream) {
  if (id == 0) return;
  Block* block = block_of(id);
  require(block->allocated, "a stream uses an allocation that is freed");
  auto& uses = block->used_by;
  if (stream == block->stream || std::find(uses.begin(), uses.end(), stream) != uses.end()) return;
  uses.push_back(stream);
}

void CachingAllocator::State::complete_events(StreamId stream) {
  const auto found = events_.find(stream);
  if (found == events_.end()) return;
  completed_.insert(completed_.end(), found->second.begin(), found->second.end());
  events_.erase(found);
}

void CachingAllocator::State::event_completed(AllocationId id) {
  Block* block = allocations_[static_cast<std::size_t>(id)];
  if (block == nullptr) return;  // complete_free() has already freed it
  if (--block->pending_events == 0) free_block(block);
}

void CachingAllocator::State::process_events() {
  while (!completed_.empty()) {
    const AllocationId id = completed_.front();
    completed_.pop_front();
    event_completed(id);
  }
}

void CachingAllocator::State::synchronise_events() {
  process_events();
  for (const auto& entry : events_) {
    for (const AllocationId id : entry.second) event_completed(id);
  }
  events_.clear();
}

void CachingAllocator::State::complete_free(AllocationId id) {
  if (id == 0) return;
  Block* block = block_of(id);
  require(!block->allocated, "an allocation's free completes before it is freed");
  block->pending_events = 0;
  free_block(block);
}

void CachingAllocator::State::free_block(Block* block) {
  shrink(statistics_.active, block->bytes);
  shrink(statistics_.requested, block->requested_bytes);
  allocations_[static_cast<std::size_t>(block->id)] = nullptr;
  block->requested_bytes = 0;
  std::int64_t inactive = -merge(block, block->previous);
  inactive -= merge(block, block->next);
  block->pool->insert(block);
  if (block->range != nullptr) return;
  if (block->is_split()) inactive += block->bytes;
  grow(statistics_.inactive_split, inactive);
}

std::int64_t CachingAllocator::State::merge(Block* block, Block* other) {
  if (other == nullptr || !other->is_free() || block->mapped != other->mapped) return 0;
  other->pool->remove(other);
  if (block->previous == other) {
    block->address = other->address;
    block->previous = other->previous;
    if (block->previous != nullptr) block->previous->next = block;
  } else {
    block->next = other->next;
    if (block->next != nullptr) block->next->previous = block;
  }
  const std::int64_t added = other->bytes;
  block->bytes += added;
  store_.give_back(other);
  return added;
}

// --- Looking ----------------------------------------------------------------------------------

void CachingAllocator::State::reset_peaks() {
  for (Gauge* gauge : {&statistics_.allocated,
                       &statistics_.requested,
                       &statistics_.active,
                       &statistics_.reserved,
                       &statistics_.inactive_split}) {
    gauge->peak = gauge->current;
  }
}

std::vector<SegmentInfo> CachingAllocator::State::snapshot() const {
  std::vector<const Block*> heads;
  const auto look = [&heads](const Block* block) {
    if (block->previous == nullptr || !block->previous->mapped) heads.push_back(block);
  };
  for (const Block* block : allocations_) {
    if (block != nullptr) look(block);
  }
  for (const BlockPool* pool : {&small_, &large_}) {
    for (const Block* block : pool->free) look(block);
  }
  std::sort(heads.begin(), heads.end(), [](const Block* a, const Block* b) {
    return a->address < b->address;
  });
  std::vector<SegmentInfo> segments;
  segments.reserve(heads.size());
  for (const Block* head : heads) {
    SegmentInfo& segment = segments.emplace_back();
    segment.address = head->address;
    segment.stream = head->stream;
    segment.small_pool = head->pool->small;
    segment.expandable = head->range != nullptr;
    for (const Block* block = head; block != nullptr && block->mapped; block = block->next) {
      BlockState state = BlockState::kFree;
      if (block->allocated) {
        state = BlockState::kAllocated;
      } else if (!block->is_free()) {
        state = BlockState::kPendingFree;
      }
      segment.blocks.push_back({block->address, block->bytes, block->requested_bytes, state});
      segment.bytes += block->bytes;
    }
  }
  return segments;
}

void CachingAllocator::State::report(DeviceEvent::Kind kind,
                                     std::int64_t bytes,
                                     StreamId stream,
                                     Address address) {
  if (callback_) callback_({kind, bytes, stream, address});
}

// --- The public class -------------------------------------------------------------------------

CachingAllocator::CachingAllocator(const AllocatorConfig& config, const DeviceLimits& limits)
    : CachingAllocator(config,
                       limits,
                       std::make_unique<DriverLikeDeviceMemory>(
                           limits.capacity_bytes.value_or(limits.total_bytes))) {}

CachingAllocator::CachingAllocator(const AllocatorConfig& config,
                                   const DeviceLimits& limits,
                                   std::unique_ptr<DeviceMemory> device)
    : state_(std::make_unique<State>(config, limits, std::move(device))) {}

CachingAllocator::CachingAllocator(CachingAllocator&& other) noexcept = default;
CachingAllocator& CachingAllocator::operator=(CachingAllocator&& other) noexcept = default;
CachingAllocator::~CachingAllocator() = default;

AllocationResult CachingAllocator::allocate(std::int64_t bytes, StreamId stream) {
  return state_->allocate(bytes, stream);
}
void CachingAllocator::free(AllocationId id) {
  state_->free(id);
}
void CachingAllocator::record_stream(AllocationId id, StreamId stream) {
  state_->record_stream(id, stream);
}
void CachingAllocator::complete_events(StreamId stream) {
  state_->complete_events(stream);
}
void CachingAllocator::complete_free(AllocationId id) {
  state_->complete_free(id);
}
void CachingAllocator::configure(const AllocatorConfig& config) {
  state_->configure(config);
}
void CachingAllocator::empty_cache() {
  state_->empty_cache();
}
const AllocatorStatistics& CachingAllocator::statistics() const {
  return state_->statistics();
}
void CachingAllocator::reset_peaks() {
  state_->reset_peaks();
}
std::vector<SegmentInfo> CachingAllocator::snapshot() const {
  return state_->snapshot();
}
void CachingAllocator::on_device_event(std::function<void(const DeviceEvent&)> callback) {
  state_->on_device_event(std::move(callback));
}

}  // namespace elixir::memory
