// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares two profiles: totals, categories, modules, operators. Modules are matched by path.
// Operators are matched by module, name and phase, and their calls by occurrence, so that an added
// layer does not make everything after it look changed. Results are sorted by growth, largest
// first, then by name.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/analysis/attribution.h"

namespace elixir::memory {

template <class T>
struct Change {
  T before{}, after{};
  bool operator==(const Change&) const = default;
  [[nodiscard]] bool changed() const { return !(before == after); }
};
using Amount = Change<std::int64_t>;
[[nodiscard]] inline std::int64_t growth(const Amount& amount) {
  return amount.after - amount.before;
}

enum class Presence : std::uint8_t { kBoth, kNew, kGone };

/// A module with any difference. A module that was removed counts as zero afterwards.
struct ModuleChange {
  std::string path;
  Presence presence = Presence::kBoth;
  Amount parameters, at_peak_bytes, activations_bytes, peak_inside_bytes;
};

struct OperatorChange {
  std::string module, name;
  program::Phase phase = program::Phase::kForward;
  Presence presence = Presence::kBoth;
  Amount calls, allocated_bytes, at_peak_bytes;
  std::int64_t calls_resized = 0;  ///< calls in both profiles that allocate different sizes
};

struct CategoryChange {
  program::Category category{};
  Amount at_peak_bytes;
  Amount made_bytes;  ///< all storages of a step, alive together or not
};

struct ProfileChanges {
  Change<std::string> model_path, fingerprint, target, optimizer, workspaces;
  Change<std::vector<std::string>> inputs;
  Amount peak_allocated_bytes, activations_peak_bytes, parameters, operator_calls;
  Change<std::optional<std::int64_t>> peak_reserved_bytes, process_peak_bytes;
  Change<std::string> peak_operator, peak_module;
  std::vector<CategoryChange> categories;  ///< all, in Category's order
  std::vector<ModuleChange> modules;       ///< by growth at the peak, then by growth of activations
  std::vector<OperatorChange> operators;   ///< by growth of allocated bytes, then at the peak
  /// Whether both profiles are of the same program with the same optimizer.
  [[nodiscard]] bool same() const { return !fingerprint.changed() && !optimizer.changed(); }
};

[[nodiscard]] ProfileChanges compare(const Attribution& before, const Attribution& after);

}  // namespace elixir::memory
