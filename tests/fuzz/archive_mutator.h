// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Mutates a zip archive into another valid one: changes a record, then writes the archive again
// with correct sizes and checksums. Random changes of the file's bytes would hardly ever get past
// its directory.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace elixir::fuzz {

using Records = std::vector<std::pair<std::string, std::string>>;  ///< name, content

/// Reads a zip file written by this or by LibTorch; empty when it is not one.
[[nodiscard]] Records read_records(const std::string& file);
/// Writes without compression.
[[nodiscard]] std::string write_records(const Records& records);

/// Changes one record, its name, or the list of records. `mutate` changes bytes.
void mutate_records(Records& records,
                    std::uint32_t seed,
                    const std::function<void(std::string&)>& mutate);

}  // namespace elixir::fuzz
