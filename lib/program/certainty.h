// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How certain the device's peaks of a profile are. Tensors are certain; what is not is the scratch
// memory that calls take beside them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace elixir::program {

/// Where a number comes from, most certain first.
enum class Basis : std::uint8_t { kExact, kMeasured, kModelled };
/// "exact", "measured", "modelled".
[[nodiscard]] std::string_view name_of(Basis basis);

struct ModuleCalls {
  std::string path;  ///< as in named_modules(); "": the model
  std::int64_t calls = 0;
  bool operator==(const ModuleCalls&) const = default;
};

/// The calls of one operator that have one label.
struct LabelledOperator {
  std::string name;  ///< with its overload: "aten::sort.stable"
  std::int64_t calls = 0;
  /// Bytes of the largest scratch memory of one call. Of modelled calls it is the estimate. 0:
  /// nothing is known, and it may take more.
  std::int64_t known_bytes = 0;
  std::vector<ModuleCalls> modules;  ///< in order; calls of no known module are in none
  bool operator==(const LabelledOperator&) const = default;
};

/// By how much each peak may be off; nullopt: nobody knows, or there is no such peak.
struct MayBeOff {
  std::optional<std::int64_t> allocated_bytes, reserved_bytes, process_bytes;
  bool operator==(const MayBeOff&) const = default;
};

struct Certainty {
  /// Each call of the step is one of these, and so is an update of torch.optim.
  std::int64_t exact_calls = 0, measured_calls = 0, modelled_calls = 0;
  /// Most calls first, then by name. Documents before 1.5 do not list measured ones.
  std::vector<LabelledOperator> measured_operators, modelled_operators;
  /// Scratch memory of modelled calls that is part of the allocated peak.
  std::int64_t modelled_bytes_at_peak = 0;
  MayBeOff may_be_off;
  /// What calls that are not exact rest on, and how far off that was elsewhere: a sentence each,
  /// without a period.
  std::vector<std::string> reasons;

  [[nodiscard]] std::int64_t calls() const { return exact_calls + measured_calls + modelled_calls; }
  /// That of the least certain call.
  [[nodiscard]] Basis basis() const;
  bool operator==(const Certainty&) const = default;
};

/// As `memory.certainty` of a profile.
[[nodiscard]] Json to_json(const Certainty& certainty);

/// "aten::sort (3), aten::topk and 2 more": at most `most` operators, with the number of calls.
[[nodiscard]] std::string list_of(const std::vector<LabelledOperator>& operators, std::size_t most);

/// "it may be off by 7.50 MiB", "how far off it may be is not known".
[[nodiscard]] std::string off_text(const std::optional<std::int64_t>& may_be_off_bytes);

/// The certainty of the allocated peak: "exact, workspaces included", "modelled: 3 of 40 calls
/// hold 8.00 MiB of it; how far off it may be is not known".
[[nodiscard]] std::string text_of(const Certainty& certainty);

}  // namespace elixir::program
