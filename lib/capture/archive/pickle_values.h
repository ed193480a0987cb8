// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The values that a pickle creates, as far as a check needs them: a graph of small nodes. A
// container may get parts after other values refer to it, so depth is known only at the end.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elixir::capture {

using PickledId = std::uint32_t;

struct PickledValue {
  enum class Kind : std::uint8_t {
    kNone,
    kNumber,  ///< a bool or an integer: `number`
    kFloat,
    kText,   ///< `begin`, `count` in the pickle
    kTuple,  ///< `begin`, `count` among the parts
    kList,
    kDict,
    kGlobal,   ///< `begin`, `count`: "module\nname\n" in the pickle
    kStorage,  ///< `number` elements, `begin` bytes each
    kOther,
  } kind = Kind::kNone;
  std::uint32_t begin = 0, count = 0;
  std::int64_t number = 0;
};

class PickledValues {
 public:
  using Kind = PickledValue::Kind;

  explicit PickledValues(std::string_view pickle) : pickle_(pickle) {}

  PickledId add(PickledValue value);
  PickledId add_tuple(const PickledId* first, std::size_t count);
  /// Makes `part` a part of the list, dict or object `whole`.
  void join(PickledId whole, PickledId part) { joins_.push_back({whole, part}); }

  [[nodiscard]] const PickledValue& at(PickledId id) const { return values_[id]; }
  [[nodiscard]] bool is(PickledId id, Kind kind) const { return values_[id].kind == kind; }
  [[nodiscard]] PickledId part(PickledId tuple, std::size_t position) const {
    return parts_[values_[tuple].begin + position];
  }
  [[nodiscard]] std::string_view text(PickledId id) const {
    return pickle_.substr(values_[id].begin, values_[id].count);
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::size_t containers() const { return containers_; }

  struct Extent {
    bool cyclic = false;
    std::uint64_t depth = 0;
    std::uint64_t visits = 0;  ///< visits of a walk that follows every reference; capped
  };
  /// Of everything below `root`.
  [[nodiscard]] Extent extent_of(PickledId root) const;

 private:
  struct Join {
    PickledId whole, part;
  };
  std::string_view pickle_;
  std::vector<PickledValue> values_;
  std::vector<PickledId> parts_;
  std::vector<Join> joins_;
  std::size_t containers_ = 0;
};

}  // namespace elixir::capture
