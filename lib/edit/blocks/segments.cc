// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// For several limits: operators are added to a segment until it would hold more bytes of
// activations than the limit, and the cut is where the fewest bytes pass in the second half of it.
#include "edit/blocks/segments.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "edit/activations.h"

namespace elixir::edit {
namespace {

using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

using Position = std::size_t;  ///< among the executed operators of forward

/// A storage that forward makes, and where forward uses it last.
struct Span {
  Position made = 0, last = 0;
  std::int64_t bytes = 0;
  bool kept = false;  ///< for backward
};

class Chain {
 public:
  Chain(const Program& program,
        const Lifetimes& lifetimes,
        const std::vector<StorageId>& activations) {
    const std::vector<bool> counts = made_for_the_step(program, lifetimes);
    std::vector<Span> spans(program.storages.size());
    for (const Operator& op : program.operators) {
      if (op.phase != Phase::kForward || !lifetimes.executed[op.id]) continue;
      const Position here = operators_.size();
      operators_.push_back(op.id);
      const auto use = [&](const TensorRef& tensor) {
        Span& span = spans[tensor.storage];
        if (lifetimes.storages[tensor.storage].producer == op.id) span.made = here;
        span.last = here;
      };
      program::for_each_tensor(op.arguments, use);
      program::for_each_tensor(op.outputs, use);
    }
    for (const StorageId s : activations) spans[s].kept = true;
    made_bytes_.assign(operators_.size(), 0);
    std::vector<std::int64_t> change(operators_.size() + 1, 0);
    for (std::size_t s = 0; s < spans.size(); ++s) {
      if (!counts[s]) continue;
      spans[s].bytes = program.storages[s].bytes;
      spans_.push_back(spans[s]);
      if (spans[s].kept) made_bytes_[spans[s].made] += spans[s].bytes;
      change[spans[s].made] += spans[s].bytes;
      change[spans[s].last] -= spans[s].bytes;
    }
    std::int64_t live_bytes = 0;
    for (Position i = 0; i < operators_.size(); ++i) {
      live_bytes += change[i];
      passing_bytes_.push_back(live_bytes);
      all_bytes_ += made_bytes_[i];
    }
  }

  [[nodiscard]] std::int64_t all_bytes() const { return all_bytes_; }
  [[nodiscard]] OperatorId operator_at(Position position) const { return operators_[position]; }

  /// The last operators of all segments but the last one, ascending.
  [[nodiscard]] std::vector<Position> cuts(std::int64_t limit_bytes) const {
    std::vector<Position> found;
    std::int64_t left_bytes = all_bytes_;  // from the segment's first operator on
    for (Position first = 0; left_bytes > limit_bytes;) {
      std::int64_t bytes = 0;
      std::optional<Position> cut;
      std::int64_t bytes_at_cut = 0;
      for (Position i = first; i + 1 < operators_.size(); ++i) {
        bytes += made_bytes_[i];
        if (bytes > limit_bytes && cut) break;
        if (2 * bytes < limit_bytes) continue;
        if (!cut || passing_bytes_[i] <= passing_bytes_[*cut]) {
          cut = i;
          bytes_at_cut = bytes;
        }
      }
      if (!cut) break;
      found.push_back(*cut);
      left_bytes -= bytes_at_cut;
      first = *cut + 1;
    }
    return found;
  }

  /// What stays kept with these cuts, and the most that one segment makes again.
  [[nodiscard]] std::int64_t cost_bytes(const std::vector<Position>& cuts) const {
    const auto segment = [&](Position position) {
      return static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), position) -
                                      cuts.begin());
    };
    std::vector<std::int64_t> inside(cuts.size() + 1, 0);
    std::int64_t passing = 0;
    for (const Span& span : spans_) {
      if (segment(span.made) != segment(span.last)) {
        passing += span.bytes;
      } else if (span.kept) {
        inside[segment(span.made)] += span.bytes;
      }
    }
    return passing + *std::max_element(inside.begin(), inside.end());
  }

 private:
  std::vector<OperatorId> operators_;
  std::vector<Span> spans_;
  std::vector<std::int64_t> made_bytes_;     ///< by position: of activations that it makes
  std::vector<std::int64_t> passing_bytes_;  ///< by position: used both before and after its end
  std::int64_t all_bytes_ = 0;
};

}  // namespace

std::vector<std::int32_t> segments_of(const Program& program,
                                      const Lifetimes& lifetimes,
                                      const std::vector<StorageId>& activations) {
  const Chain chain(program, lifetimes, activations);
  std::vector<Position> best;
  std::int64_t least_bytes = chain.all_bytes();
  for (const std::int64_t parts : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
    const std::vector<Position> cuts = chain.cuts(chain.all_bytes() / parts);
    if (cuts.empty()) continue;
    const std::int64_t bytes = chain.cost_bytes(cuts);
    if (bytes >= least_bytes) continue;
    least_bytes = bytes;
    best = cuts;
  }
  std::vector<std::int32_t> segment(program.operators.size(), -1);
  if (best.empty()) return segment;
  std::int32_t current = 0;
  for (const Operator& op : program.operators) {
    if (op.phase != Phase::kForward) continue;
    segment[op.id] = current;
    const auto done = static_cast<std::size_t>(current);
    if (done < best.size() && chain.operator_at(best[done]) == op.id) ++current;
  }
  return segment;
}

}  // namespace elixir::edit
