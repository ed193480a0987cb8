// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Files are written whole or not at all: to a temporary name in the same directory, synced,
// renamed. Every tool that writes goes through here. Symbolic links are followed; devices and pipes
// (/dev/stdout, /dev/null) are written directly and never count as existing output.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elixir {

enum class Overwrite { kRefuse, kAllow };

/// Fails early, before long work, when `path` cannot be written: kOutputExists (without kAllow),
/// kOutputUnwritable (directory missing or not writable).
void check_output(const std::string& path, Overwrite overwrite);

/// Writes `bytes` to `path` atomically. kOutputExists, kOutputUnwritable, kDiskFull, kIoError; on
/// failure no partial file is left.
void write_file(const std::string& path, std::string_view bytes, Overwrite overwrite);

/// Streams: `produce` appends through `sink`; the same guarantees as write_file.
using Sink = std::function<void(std::string_view)>;
void write_file_streamed(const std::string& path,
                         Overwrite overwrite,
                         const std::function<void(const Sink&)>& produce);

/// No document, trace or log that a tool reads whole is larger.
inline constexpr std::uint64_t kLargestWholeFileBytes = std::uint64_t{1} << 30;

/// Whole content of a plain file. kFileNotFound; kFileUnreadable, also for pipes and devices, which
/// have no end that could be known, and for more than `most_bytes`.
[[nodiscard]] std::string read_file(const std::string& path,
                                    std::uint64_t most_bytes = kLargestWholeFileBytes);

/// Removes the temporary files of writes in progress. Async-signal-safe: for the handler that ends
/// the process at once.
void abandon_temporaries() noexcept;

/// fsync of a directory, after renames inside it.
void sync_directory(const std::string& path);

/// SHA-256 as 64 lowercase hex digits (FIPS 180-4).
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  [[nodiscard]] std::string hex();  ///< finishes; call once

 private:
  std::uint32_t state_[8];
  unsigned char block_[64];
  std::uint64_t length_bytes_ = 0;
  void compress(const unsigned char* block);
};

}  // namespace elixir
