// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Work that every rank does at once for itself, such as writing its file of a checkpoint.
// Afterwards each hears of all, so that a failure of one is an error of rank 0 with the same code.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/communicator.h"

namespace elixir::train {

struct RankReport {
  std::string host = {};   ///< work_together() fills it in
  std::int64_t bytes = 0;  ///< of what was written, with the digest
  std::string digest = {};
  // work_together() fills these in where the work of a rank failed.
  std::optional<ErrorCode> failure = {};
  std::string file = {}, message = {};
};
[[nodiscard]] std::string encode(const RankReport& report);
/// nullopt: no rank sends it.
[[nodiscard]] std::optional<RankReport> decode_report(std::string_view payload);

/// Every rank must call it. The reports, by rank. A rank whose work throws an Error throws it after
/// the others have heard. Rank 0 throws the first one of another rank, which it names, with `help`.
/// The others return then, and end with rank 0.
std::vector<RankReport> work_together(runtime::Communicator& control,
                                      const std::function<RankReport()>& work,
                                      const std::string& help);

}  // namespace elixir::train
