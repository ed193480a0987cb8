// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A module tree as an HTML table with rows that open and close. Without a script all rows show.

#include <cstddef>
#include <string>
#include <vector>

#include "memory/analysis/module_memory.h"
#include "report/profile/byte_unit.h"

namespace elixir::report {

/// Shows at most `limit` modules, outer ones first. Omitted modules are counted where they would
/// be. Bars show each module's share of the activations.
[[nodiscard]] std::string module_table(const std::vector<memory::ModuleMemory>& tree,
                                       const ByteUnit& unit,
                                       std::size_t limit);

}  // namespace elixir::report
