// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What an archive's records may claim and hold, checked before LibTorch's loader reads them: sizes
// against the file (a sparse or compressed record is larger than what it takes on disk), pickles
// and code by their own checks, tensors of a pickle against the records they lie in.

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

/// Sizes alone: nothing is read. Names of `entries` have the archive's folder before them.
[[nodiscard]] std::optional<RecordProblem> check_record_sizes(const std::vector<ZipEntry>& entries);

/// Contents of pickles and code. `read` gives a record, uncompressed; `bytes_of` its size, nothing
/// when there is none. Names are without folder.
[[nodiscard]] std::optional<RecordProblem> check_record_contents(
    const std::vector<std::string>& names,
    const std::function<std::string(const std::string&)>& read,
    const std::function<std::optional<std::uint64_t>(const std::string&)>& bytes_of);

}  // namespace elixir::capture
