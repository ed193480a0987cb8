// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/recorded/trace.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "memory/recorded/trace_text.h"

namespace elixir::memory {
namespace {

using Kind = RecordedEvent::Kind;
using DeviceKind = DeviceEvent::Kind;

constexpr std::string_view kFirstLine = "elixir-allocator-trace 1";

struct DeviceName {
  std::string_view name;
  DeviceKind kind;
};
constexpr std::array<DeviceName, 4> kDeviceNames{{{"s+", DeviceKind::kAllocate},
                                                  {"s-", DeviceKind::kFree},
                                                  {"m+", DeviceKind::kMap},
                                                  {"m-", DeviceKind::kUnmap}}};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  RecordedTrace run() {
    header();
    while (next_line()) event();
    return std::move(trace_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::vector<std::string> help = {}) {
    throw Error(ErrorInfo{ErrorCode::kBadRecordedTrace,
                          message,
                          SourcePos{file_, "", line_, std::nullopt},
                          {},
                          std::move(help)});
  }

  /// Reads the next line with words. Skips empty lines and comments.
  bool next_line() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      rest_ = text_.substr(at_, end - at_);
      at_ = end + 1;
      ++line_;
      if (!rest_.empty() && rest_.front() != '#') return true;
    }
    return false;
  }
  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view result = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return result;
  }
  void no_more() {
    if (!rest_.empty()) fail(fmt::format("`{}` is too much on this line", rest_));
  }

  std::int64_t number(std::string_view text, const std::string& what, std::int64_t least) {
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < least) {
      fail(fmt::format("`{}` is no {}", text, what),
           {fmt::format("expected a whole number, {} or more", least)});
    }
    return value;
  }
  Address address(std::string_view text) {
    Address value = 0;
    const char* end = text.data() + text.size();
    if (!text.empty() && text.front() == '@') {
      const auto read = std::from_chars(text.data() + 1, end, value, 16);
      if (text.size() > 1 && read.ec == std::errc() && read.ptr == end) return value;
    }
    fail(fmt::format("`{}` is not an address", text), {"expected @ and hexadecimal digits"});
  }
  /// The stream, if the next word is one; otherwise 0.
  StreamId optional_stream() {
    if (rest_.empty() || rest_.front() == '@') return 0;
    return number(word(), "stream", 0);
  }

  std::string_view value_of(std::string_view key, const std::string& example) {
    if (!next_line() || word() != key) {
      fail(fmt::format("the trace lacks its `{}` line here", key),
           {fmt::format("write `{}`", example)});
    }
    return rest_;
  }

  void header() {
    if (!next_line() || rest_ != kFirstLine) {
      fail("not an allocator trace", {fmt::format("the first line is `{}`", kFirstLine)});
    }
    const std::string_view config = value_of("config", "config expandable_segments:True");
    try {
      trace_.config = AllocatorConfig::parse(config, file_);
    } catch (Error& error) {
      fail(error.info().message, error.info().help);
    }
    const std::string_view device = value_of("device", "device 150109880320");
    trace_.device_bytes = number(device, "size of a device", 1);
    const std::string_view capacity = value_of("capacity", "capacity 149000000000");
    trace_.capacity_bytes = number(capacity, "size of a device", 1);
    const std::string_view allowed = value_of("allowed", "allowed none");
    if (allowed != "none") trace_.allowed_bytes = number(allowed, "memory limit", 0);
  }

  void event() {
    const std::string_view name = word();
    if (trace_.final_segments && name != "g") fail("an event after the final segments");
    RecordedEvent event;
    event.line = line_;
    if (name == "a") {
      event.kind = Kind::kAllocate;
      event.bytes = number(word(), "size of an allocation", 1);
      event.stream = optional_stream();
      if (!rest_.empty()) event.address = address(word());
      event.allocation = static_cast<std::int64_t>(states_.size());
      states_.push_back(BlockState::kAllocated);
    } else if (name == "f") {
      free_event(event, Kind::kFree, BlockState::kAllocated, BlockState::kFree);
    } else if (name == "q") {
      free_event(event, Kind::kFreeRequested, BlockState::kAllocated, BlockState::kPendingFree);
    } else if (name == "c") {
      free_event(event, Kind::kFreeCompleted, BlockState::kPendingFree, BlockState::kFree);
    } else if (name == "oom") {
      event.kind = Kind::kOutOfMemory;
      event.bytes = number(word(), "size of an allocation", 1);
      event.stream = optional_stream();
    } else if (name == "e") {
      event.kind = Kind::kEmptyCache;
    } else if (name == "p") {
      event.kind = Kind::kPeaks;
      for (std::int64_t& value : event.peaks) value = number(word(), "number of bytes", 0);
    } else if (name == "g") {
      segment();
      return;
    } else {
      device_event(event, name);
    }
    no_more();
    trace_.events.push_back(event);
  }

  /// A free names its allocation by counting back from the newest: 1 is the newest.
  void free_event(RecordedEvent& event, Kind kind, BlockState from, BlockState to) {
    event.kind = kind;
    const std::int64_t back = number(word(), "allocation, counted back from the newest", 1);
    const auto count = static_cast<std::int64_t>(states_.size());
    if (back > count) fail(fmt::format("there are only {} allocations so far", count));
    event.allocation = count - back;
    BlockState& state = states_[static_cast<std::size_t>(event.allocation)];
    if (state != from) {
      fail(from == BlockState::kAllocated ? "this allocation is already freed"
                                          : "this allocation does not wait to be freed");
    }
    state = to;
  }

  void device_event(RecordedEvent& event, std::string_view name) {
    event.kind = Kind::kDevice;
    for (const DeviceName& known : kDeviceNames) {
      if (known.name != name) continue;
      event.device.kind = known.kind;
      event.device.bytes = number(word(), "size of a segment", 1);
      event.device.stream = optional_stream();
      event.device.address = address(word());
      return;
    }
    fail(fmt::format("unknown event `{}`", name),
         {"events are a, f, q, c, e, oom, p, s+, s-, m+, m-, and g at the end"});
  }

  void segment() {
    if (!trace_.final_segments) trace_.final_segments.emplace();
    SegmentInfo segment;
    segment.address = address(word());
    segment.stream = number(word(), "stream", 0);
    const std::string_view pool = word();
    if (pool != "small" && pool != "large" && pool != "small+" && pool != "large+") {
      fail(fmt::format("`{}` is not a pool", pool),
           {"expected small or large, with + for an expandable segment"});
    }
    segment.small_pool = pool.substr(0, 5) == "small";
    segment.expandable = pool.back() == '+';
    while (!rest_.empty()) segment.blocks.push_back(block(word(), segment));
    if (segment.blocks.empty()) fail("a segment without blocks");
    trace_.final_segments->push_back(std::move(segment));
  }
  BlockInfo block(std::string_view text, SegmentInfo& segment) {
    BlockInfo block;
    block.address = segment.address + static_cast<Address>(segment.bytes);
    const char state = text.empty() ? ' ' : text.back();
    if (state != 'a' && state != 'f' && state != 'q') {
      fail(fmt::format("`{}` is not a block", text),
           {"expected its size and a (allocated), f (free) or q (waits to be freed)"});
    }
    block.state = state == 'a'   ? BlockState::kAllocated
                  : state == 'q' ? BlockState::kPendingFree
                                 : BlockState::kFree;
    block.bytes = number(text.substr(0, text.size() - 1), "size of a block", 1);
    segment.bytes += block.bytes;
    return block;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::string_view rest_;  ///< rest of the current line
  RecordedTrace trace_;
  std::vector<BlockState> states_;  ///< by allocation
};

}  // namespace

std::string line_of(const DeviceEvent& event) {
  if (event.kind == DeviceKind::kOutOfMemory) {
    return fmt::format("oom {} {}", event.bytes, event.stream);
  }
  std::string_view name;
  for (const DeviceName& known : kDeviceNames) {
    if (known.kind == event.kind) name = known.name;
  }
  return fmt::format("{} {} {} @{:x}", name, event.bytes, event.stream, event.address);
}

std::string line_of(const SegmentInfo& segment) {
  std::string line = fmt::format("g @{:x} {} {}{}",
                                 segment.address,
                                 segment.stream,
                                 segment.small_pool ? "small" : "large",
                                 segment.expandable ? "+" : "");
  for (const BlockInfo& block : segment.blocks) {
    const char state = block.state == BlockState::kAllocated     ? 'a'
                       : block.state == BlockState::kPendingFree ? 'q'
                                                                 : 'f';
    line += fmt::format(" {}{}", block.bytes, state);
  }
  return line;
}

std::string line_of(const std::array<std::int64_t, 4>& peaks) {
  return fmt::format("p {}", fmt::join(peaks, " "));
}

RecordedTrace read_recorded_trace(std::string_view text, const std::string& file) {
  return Reader(text, file).run();
}

std::string write_recorded_trace(const RecordedTrace& trace) {
  std::string text = fmt::format(
      "{}\nconfig {}\ndevice {}\ncapacity {}\nallowed {}\n",
      kFirstLine,
      trace.config.text(),
      trace.device_bytes,
      trace.capacity_bytes,
      trace.allowed_bytes ? fmt::format("{}", *trace.allowed_bytes) : std::string("none"));
  std::int64_t allocations = 0;
  for (const RecordedEvent& event : trace.events) {
    const std::int64_t back = allocations - event.allocation;
    switch (event.kind) {
      case Kind::kAllocate:
        text += fmt::format("a {}", event.bytes);
        if (event.stream != 0) text += fmt::format(" {}", event.stream);
        if (event.address) text += fmt::format(" @{:x}", *event.address);
        ++allocations;
        break;
      case Kind::kFree:
        text += fmt::format("f {}", back);
        break;
      case Kind::kFreeRequested:
        text += fmt::format("q {}", back);
        break;
      case Kind::kFreeCompleted:
        text += fmt::format("c {}", back);
        break;
      case Kind::kOutOfMemory:
        text += line_of(DeviceEvent{DeviceKind::kOutOfMemory, event.bytes, event.stream, 0});
        break;
      case Kind::kEmptyCache:
        text += 'e';
        break;
      case Kind::kDevice:
        text += line_of(event.device);
        break;
      case Kind::kPeaks:
        text += line_of(event.peaks);
        break;
    }
    text += '\n';
  }
  if (trace.final_segments) {
    for (const SegmentInfo& segment : *trace.final_segments) {
      text += line_of(segment);
      text += '\n';
    }
  }
  return text;
}

}  // namespace elixir::memory
