// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks the records of an archive before LibTorch's loader reads them: sizes against the file (a
// sparse or compressed record is larger than its space on disk), pickles and code by their own
// checks, and tensors of a pickle against the records that hold them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/archive/zip_directory.h"

namespace elixir::capture {

struct RecordProblem {
  std::string record;
  std::string message;
};

/// LibTorch finds records by their names in any case, and the other checks by their exact names. A
/// name that only LibTorch would find hides its record from them.
[[nodiscard]] std::optional<RecordProblem> check_record_names(const std::vector<ZipEntry>& entries);

/// Checks sizes only, and reads nothing. The names of `entries` start with the archive's folder.
[[nodiscard]] std::optional<RecordProblem> check_record_sizes(const std::vector<ZipEntry>& entries);

/// Checks the contents of pickles and code. `read` returns a record, uncompressed. `bytes_of`
/// returns its size; nullopt when there is no such record. Names have no folder.
[[nodiscard]] std::optional<RecordProblem> check_record_contents(
    const std::vector<std::string>& names,
    const std::function<std::string(const std::string&)>& read,
    const std::function<std::optional<std::uint64_t>(const std::string&)>& bytes_of);

}  // namespace elixir::capture
