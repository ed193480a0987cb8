// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocator/config.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace elixir::memory {
namespace {

/// Requests below this size may share a segment, so a shared segment must be larger.
constexpr std::int64_t kMinLargeRequestMiB = 10;
constexpr std::int64_t kMaxMiB = AllocatorConfig::kUnlimited / (1 << 20);
constexpr std::int64_t kMaxRegisterThreads = 128;

struct Token {
  std::string text;
  std::size_t byte = 0;  ///< in the configuration's text
};

struct Entry {
  Token key;
  std::vector<Token> value;  ///< one word, or a list with its brackets, colons and commas
};

const std::vector<std::string>& known_options() {
  static const std::vector<std::string> options{"backend",
                                                "expandable_segments",
                                                "garbage_collection_threshold",
                                                "graph_capture_record_stream_reuse",
                                                "large_segment_size_mb",
                                                "max_non_split_rounding_mb",
                                                "max_split_size_mb",
                                                "per_process_memory_fraction",
                                                "pinned_num_register_threads",
                                                "pinned_reserve_segment_size_mb",
                                                "pinned_use_background_threads",
                                                "pinned_use_cuda_host_register",
                                                "pinned_use_hip_host_register",
                                                "release_lock_on_cudamalloc",
                                                "release_lock_on_hipmalloc",
                                                "roundup_power2_divisions"};
  return options;
}

bool is_punctuation(char c) {
  return c == ',' || c == ':' || c == '[' || c == ']';
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::vector<Token> tokenise(std::string_view text) {
  std::vector<Token> tokens;
  bool in_word = false;
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    const char c = text[byte];
    if (is_space(c)) continue;  // also inside a word, as LibTorch does
    if (is_punctuation(c) || !in_word) tokens.push_back({"", byte});
    tokens.back().text += c;
    in_word = !is_punctuation(c);
  }
  return tokens;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& place)
      : text_(text), place_(place), tokens_(tokenise(text)) {}

  AllocatorConfig run() {
    const std::vector<Entry> entries = split();
    // Parsed first, wherever it is, because the limits of two options depend on it.
    for (const Entry& entry : entries) {
      if (entry.key.text == "large_segment_size_mb") {
        config_.large_segment_bytes = mebibytes(entry, kMinLargeRequestMiB + 1);
      }
    }
    config_.max_non_split_rounding_bytes = config_.large_segment_bytes;
    for (const Entry& entry : entries) apply(entry);
    return std::move(config_);
  }

 private:
  [[noreturn]] void fail(std::size_t byte, std::string message, std::vector<std::string> help) {
    throw Error(ErrorInfo{ErrorCode::kBadAllocatorConfig,
                          std::move(message),
                          SourcePos{place_, "", std::nullopt, static_cast<long long>(byte)},
                          {fmt::format("in `{}`", text_)},
                          std::move(help)});
  }
  [[noreturn]] void refuse(const Entry& entry, const std::string& expected) {
    std::string value;
    for (const Token& token : entry.value) value += token.text;
    fail(entry.value.front().byte,
         fmt::format("`{}` is not a value for the allocator option `{}`", value, entry.key.text),
         {fmt::format("expected {}", expected)});
  }

  void expect(std::size_t at, const std::string& what) {
    if (at < tokens_.size() && tokens_[at].text == what) return;
    const std::size_t byte = at < tokens_.size() ? tokens_[at].byte : text_.size();
    fail(byte,
         fmt::format("the allocator configuration lacks `{}`", what),
         {"write option:value,option:value, for example expandable_segments:True"});
  }

  /// Position after the value that begins at `at`.
  std::size_t value_end(std::size_t at, const Token& key) {
    if (at >= tokens_.size() ||
        (is_punctuation(tokens_[at].text.front()) && tokens_[at].text != "[")) {
      fail(at < tokens_.size() ? tokens_[at].byte : text_.size(),
           fmt::format("the allocator option `{}` has no value", key.text),
           {"write option:value"});
    }
    if (tokens_[at].text != "[") return at + 1;
    std::size_t end = at;
    while (end < tokens_.size() && tokens_[end].text != "]") ++end;
    expect(end, "]");
    return end + 1;
  }

  std::vector<Entry> split() {
    std::vector<Entry> entries;
    std::set<std::string> seen;
    for (std::size_t at = 0; at < tokens_.size(); ++at) {
      Entry entry;
      entry.key = tokens_[at];
      check_key(entry.key);
      if (!seen.insert(entry.key.text).second) {
        fail(entry.key.byte,
             fmt::format("the allocator option `{}` is given twice", entry.key.text),
             {"give it once"});
      }
      expect(at + 1, ":");
      const std::size_t end = value_end(at + 2, entry.key);
      entry.value.assign(tokens_.begin() + static_cast<std::ptrdiff_t>(at + 2),
                         tokens_.begin() + static_cast<std::ptrdiff_t>(end));
      entries.push_back(std::move(entry));
      at = end;
      if (at < tokens_.size()) expect(at, ",");
    }
    return entries;
  }

  void check_key(const Token& key) {
    const auto& known = known_options();
    if (std::find(known.begin(), known.end(), key.text) != known.end()) return;
    std::vector<std::string> help;
    for (const std::string& near : nearest(key.text, known)) {
      help.push_back(fmt::format("did you mean `{}`?", near));
    }
    if (help.empty()) {
      help.push_back(fmt::format("LibTorch 2.11 knows {}", fmt::join(known, ", ")));
    }
    fail(key.byte, fmt::format("unknown allocator option `{}`", key.text), std::move(help));
  }

  static std::optional<std::int64_t> integer(std::string_view word) {
    std::int64_t value = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size() || value < 0) {
      return std::nullopt;
    }
    return value;
  }
  static bool is_power_of_two(std::int64_t value) {
    return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
  }

  std::int64_t mebibytes(const Entry& entry, std::int64_t least) {
    const auto value = integer(entry.value.front().text);
    if (entry.value.size() != 1 || !value || *value < least || *value > kMaxMiB) {
      refuse(entry, fmt::format("a whole number of MiB, {} or more", least));
    }
    return *value * 1_MiB;
  }

  double fraction(const Entry& entry, bool ends_included) {
    const std::string& word = entry.value.front().text;
    double value = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool in_range = ends_included ? value >= 0 && value <= 1 : value > 0 && value < 1;
    if (read.ec != std::errc() || read.ptr != word.data() + word.size() || !in_range) {
      refuse(entry, ends_included ? "a number from 0 to 1" : "a number between 0 and 1");
    }
    return value;
  }

  bool boolean(const Entry& entry) {
    const std::string& word = entry.value.front().text;
    if (word != "True" && word != "False") refuse(entry, "`True` or `False`");
    return word == "True";
  }

  void apply(const Entry& entry) {
    const std::string& key = entry.key.text;
    if (key == "roundup_power2_divisions") return divisions(entry);
    if (entry.value.size() != 1) refuse(entry, "one value, not a list");
    if (key == "large_segment_size_mb") return;
    const std::int64_t segment_mib = config_.large_segment_bytes / 1_MiB;
    if (key == "max_split_size_mb") {
      config_.max_split_bytes = mebibytes(entry, segment_mib);
    } else if (key == "max_non_split_rounding_mb") {
      config_.max_non_split_rounding_bytes = mebibytes(entry, segment_mib);
    } else if (key == "garbage_collection_threshold") {
      config_.garbage_collection_threshold = fraction(entry, false);
    } else if (key == "per_process_memory_fraction") {
      config_.per_process_memory_fraction = fraction(entry, true);
    } else if (key == "expandable_segments") {
      config_.expandable_segments = boolean(entry);
    } else {
      ignore(entry);
    }
  }

  /// Options that change no size still need values that LibTorch accepts.
  void ignore(const Entry& entry) {
    const std::string& key = entry.key.text;
    const std::string& word = entry.value.front().text;
    if (key == "backend") {
      if (word != "native") {
        refuse(entry, "`native`: cudaMallocAsync is another allocator, which is not simulated");
      }
    } else if (key == "pinned_num_register_threads") {
      const auto threads = integer(word);
      if (!threads || !is_power_of_two(*threads) || *threads > kMaxRegisterThreads) {
        refuse(entry, fmt::format("a power of two up to {}", kMaxRegisterThreads));
      }
    } else if (key == "pinned_reserve_segment_size_mb") {
      mebibytes(entry, 1);
    } else {
      boolean(entry);
    }
    config_.ignored.push_back(fmt::format("{}:{}", key, word));
  }

  void divisions(const Entry& entry) {
    auto& steps = config_.roundup_power2_divisions;
    if (entry.value.front().text != "[") {
      const auto value = integer(entry.value.front().text);
      if (!value || !is_power_of_two(*value)) {
        refuse(entry, "a power of two, or a list such as [256:1,512:2,1024:4,>:8]");
      }
      steps.fill(*value);
      return;
    }
    // [boundary:divisions,…] with boundaries in MiB. The first also applies below its boundary, `>`
    // above the last one. As in LibTorch, a boundary left out between two others stays 0.
    std::size_t last = 0;
    bool first = true;
    const std::vector<Token>& list = entry.value;
    for (std::size_t at = 1; at + 1 < list.size(); at += 4) {
      const std::int64_t value =
          at + 2 < list.size() ? integer(list[at + 2].text).value_or(-1) : -1;
      const bool followed =
          at + 3 < list.size() && (list[at + 3].text == "," || at + 4 == list.size());
      if (list[at + 1].text != ":" || !followed || (value != 0 && !is_power_of_two(value))) {
        refuse(entry, "boundary:divisions pairs in which divisions are powers of two or 0");
      }
      if (list[at].text == ">") {
        std::fill(steps.begin() + static_cast<std::ptrdiff_t>(last + 1), steps.end(), value);
        continue;
      }
      const std::int64_t boundary = integer(list[at].text).value_or(-1);
      if (!is_power_of_two(boundary)) {
        refuse(entry, "boundaries in MiB that are powers of two, or `>` for all above");
      }
      const int log2 = std::countr_zero(static_cast<std::uint64_t>(boundary));
      last = std::min(static_cast<std::size_t>(log2), kDivisionIntervals - 1);
      if (first) std::fill(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(last), value);
      first = false;
      steps[last] = value;
    }
  }

  std::string_view text_;
  const std::string& place_;
  std::vector<Token> tokens_;
  AllocatorConfig config_;
};

std::string divisions_text(const std::array<std::int64_t, kDivisionIntervals>& steps) {
  // Equal intervals at both ends are written once: the first boundary also applies below it, `>`
  // above.
  std::size_t first = 0;
  while (first + 1 < steps.size() && steps[first + 1] == steps[0]) ++first;
  if (first + 1 == steps.size() && steps[0] != 0) return fmt::format("{}", steps[0]);
  std::size_t tail = steps.size() - 1;
  while (tail > first + 1 && steps[tail - 1] == steps.back()) --tail;
  std::string text = "[";
  for (std::size_t i = first; i < tail; ++i) {
    text += fmt::format("{}:{},", std::uint64_t{1} << i, steps[i]);
  }
  return text + fmt::format(">:{}]", steps.back());
}

}  // namespace

AllocatorConfig AllocatorConfig::parse(std::string_view text, const std::string& place) {
  return Parser(text, place).run();
}

std::string AllocatorConfig::text() const {
  const AllocatorConfig defaults;
  std::vector<std::string> parts;
  if (large_segment_bytes != defaults.large_segment_bytes) {
    parts.push_back(fmt::format("large_segment_size_mb:{}", large_segment_bytes / 1_MiB));
  }
  if (max_split_bytes != defaults.max_split_bytes) {
    parts.push_back(fmt::format("max_split_size_mb:{}", max_split_bytes / 1_MiB));
  }
  if (max_non_split_rounding_bytes != large_segment_bytes) {
    parts.push_back(
        fmt::format("max_non_split_rounding_mb:{}", max_non_split_rounding_bytes / 1_MiB));
  }
  if (garbage_collection_threshold != defaults.garbage_collection_threshold) {
    parts.push_back(fmt::format("garbage_collection_threshold:{}", garbage_collection_threshold));
  }
  if (roundup_power2_divisions != defaults.roundup_power2_divisions) {
    parts.push_back(
        fmt::format("roundup_power2_divisions:{}", divisions_text(roundup_power2_divisions)));
  }
  if (expandable_segments) parts.emplace_back("expandable_segments:True");
  if (per_process_memory_fraction != defaults.per_process_memory_fraction) {
    parts.push_back(fmt::format("per_process_memory_fraction:{}", per_process_memory_fraction));
  }
  parts.insert(parts.end(), ignored.begin(), ignored.end());
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace elixir::memory
