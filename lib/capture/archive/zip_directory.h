// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Central directory of a zip file: what LibTorch's reader does not tell, the checksums. Its reader
// is built without checksum tests, so damaged pickles would be interpreted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace elixir::capture {

struct ZipEntry {
  std::string name;
  std::uint32_t checksum = 0;  ///< CRC-32; 0 when the writer left it out
  std::uint64_t bytes = 0;     ///< uncompressed
  bool stored = true;          ///< not compressed
};

/// Empty when the file of `file_bytes` does not end in a well-formed directory of at most 64 MiB.
/// Finds the same directory as LibTorch's reader, so that what holds for these entries holds there.
[[nodiscard]] std::vector<ZipEntry> read_zip_directory(int descriptor, std::uint64_t file_bytes);

/// CRC-32 (ISO 3309) of more bytes after those that gave `checksum`; start with 0.
[[nodiscard]] std::uint32_t crc32(std::uint32_t checksum, const void* bytes, std::size_t count);

}  // namespace elixir::capture
