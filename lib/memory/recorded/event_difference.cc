// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/recorded/event_difference.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::memory {
namespace {

struct StoryEntry {
  bool frees = false;
  std::int64_t request = 0;  ///< counted from 0
  std::int64_t bytes = 0;
  int step = 0;
  program::OperatorId at = -1;
};

bool same(const StoryEntry& a, const StoryEntry& b) {
  return a.frees == b.frees && a.bytes == b.bytes && (!a.frees || a.request == b.request);
}

/// Normalises the order of events, so that equivalent sequences become equal lists.
class Story {
 public:
  void request(std::int64_t key, StoryEntry entry) {
    flush();
    entry.request = static_cast<std::int64_t>(known_.size());
    known_[key] = {entry.request, entry.bytes};
    entries_.push_back(entry);
  }
  void release(std::int64_t key, int step, program::OperatorId at) {
    const auto [request, bytes] = known_.at(key);
    released_.push_back(
        {.frees = true, .request = request, .bytes = bytes, .step = step, .at = at});
  }
  std::vector<StoryEntry> take() {
    flush();
    return std::move(entries_);
  }

 private:
  void flush() {
    std::sort(released_.begin(), released_.end(), [](const StoryEntry& a, const StoryEntry& b) {
      return a.request < b.request;
    });
    entries_.insert(entries_.end(), released_.begin(), released_.end());
    released_.clear();
  }

  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>> known_;
  std::vector<StoryEntry> entries_, released_;
};

std::vector<StoryEntry> story_of(const TrainingEvents& events) {
  Story story;
  int step = 0;
  for (const TrainingEvent& event : events.events) {
    const auto& allocation = events.allocations.at(static_cast<std::size_t>(event.allocation));
    if (event.frees) {
      story.release(event.allocation, step, event.at);
    } else {
      step = allocation.step;
      story.request(event.allocation, {.bytes = allocation.bytes, .step = step, .at = event.at});
    }
  }
  return story.take();
}

std::vector<StoryEntry> story_of(const std::vector<RecordedEvent>& events) {
  Story story;
  for (const RecordedEvent& event : events) {
    if (event.kind == RecordedEvent::Kind::kAllocate) {
      story.request(event.allocation, {.bytes = event.bytes});
    } else if (event.kind == RecordedEvent::Kind::kFree) {
      story.release(event.allocation, 0, -1);
    }
  }
  return story.take();
}

std::string text_of(const std::vector<StoryEntry>& entries, std::size_t i) {
  if (i >= entries.size()) return "nothing more";
  return fmt::format("{} of {} bytes",
                     entries[i].frees ? "the end of a request" : "a request",
                     format_count(entries[i].bytes));
}

}  // namespace

std::optional<EventDifference> first_difference(const TrainingEvents& predicted,
                                                const std::vector<RecordedEvent>& recorded) {
  const std::vector<StoryEntry> ours = story_of(predicted);
  const std::vector<StoryEntry> theirs = story_of(recorded);
  std::size_t i = 0;
  while (i < ours.size() && i < theirs.size() && same(ours[i], theirs[i])) ++i;
  if (i == ours.size() && i == theirs.size()) return std::nullopt;
  EventDifference difference;
  difference.event = i;
  difference.predicted = text_of(ours, i);
  difference.recorded = text_of(theirs, i);
  if (!ours.empty()) {
    const StoryEntry& here = ours[std::min(i, ours.size() - 1)];
    difference.step = here.step;
    difference.at = here.at;
  }
  return difference;
}

}  // namespace elixir::memory
