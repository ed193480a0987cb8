// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Mutations of a zip archive that stays one: a record is changed, and the archive is written anew
// with its true sizes and checksums. Changed bytes of the file alone hardly ever come further than
// its directory.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace elixir::fuzz {

using Records = std::vector<std::pair<std::string, std::string>>;  ///< name, content

/// Of a zip file as this writes it or LibTorch does; empty when it is none.
[[nodiscard]] Records read_records(const std::string& file);
/// Without compression.
[[nodiscard]] std::string write_records(const Records& records);

/// Changes one record, its name or the list of them. `mutate` changes bytes.
void mutate_records(Records& records,
                    std::uint32_t seed,
                    const std::function<void(std::string&)>& mutate);

}  // namespace elixir::fuzz
