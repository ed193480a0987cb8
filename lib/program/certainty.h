// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How certain the device's peaks of a profile are. Tensors are certain; what is not is the scratch
// memory that calls take beside them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace elixir::program {

/// Where a number comes from, most certain first.
enum class Basis : std::uint8_t { kExact, kMeasured, kModelled };
/// "exact", "measured", "modelled".
[[nodiscard]] std::string_view name_of(Basis basis);

/// The modelled calls of one operator.
struct ModelledOperator {
  std::string name;  ///< with its overload: "aten::sort.stable"
  std::int64_t calls = 0;
  /// Bytes of the largest estimate of one call. 0: nothing is known, and it may take more.
  std::int64_t known_bytes = 0;
  bool operator==(const ModelledOperator&) const = default;
};

struct Certainty {
  /// Each call of the step is one of these, and so is an update of torch.optim.
  std::int64_t exact_calls = 0, measured_calls = 0, modelled_calls = 0;
  std::vector<ModelledOperator> modelled_operators;  ///< most calls first, then by name
  /// Scratch memory of modelled calls that is part of the allocated peak. What they take beyond
  /// their estimates is not known.
  std::int64_t modelled_bytes_at_peak = 0;

  [[nodiscard]] std::int64_t calls() const { return exact_calls + measured_calls + modelled_calls; }
  /// That of the least certain call.
  [[nodiscard]] Basis basis() const;
  bool operator==(const Certainty&) const = default;
};

/// As `memory.certainty` of a profile.
[[nodiscard]] Json to_json(const Certainty& certainty);

/// "aten::sort (3), aten::topk and 2 more": at most `most` operators, with the number of calls.
[[nodiscard]] std::string list_of(const std::vector<ModelledOperator>& operators, std::size_t most);

/// "exact, workspaces included", "exact but for 3 modelled calls: 0 known at the peak, may be more".
[[nodiscard]] std::string text_of(const Certainty& certainty);

}  // namespace elixir::program
