// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Lists by key in two vectors. Most operators have nothing in their list, and a search makes such
// lists for thousands of plans: a vector of vectors would take most of its time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace elixir::schedule {

class Lists {
 public:
  struct Entry {
    std::int32_t key = -1, value = -1;
  };
  Lists() = default;
  /// Keys are in [0, keys). Values of one key keep their order.
  Lists(std::size_t keys, const std::vector<Entry>& entries)
      : begin_(keys + 1, 0), values_(entries.size()) {
    for (const Entry& entry : entries) ++begin_[entry.key];
    std::uint32_t end = 0;
    for (std::uint32_t& begin : begin_) begin = end += begin;
    for (std::size_t i = entries.size(); i-- > 0;) {
      values_[--begin_[entries[i].key]] = entries[i].value;
    }
  }

  [[nodiscard]] std::span<const std::int32_t> operator[](std::size_t key) const {
    return {values_.data() + begin_[key], values_.data() + begin_[key + 1]};
  }

 private:
  std::vector<std::uint32_t> begin_;  ///< by key: position in values_; one more at the end
  std::vector<std::int32_t> values_;
};

}  // namespace elixir::schedule
