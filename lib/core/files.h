// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads and writes files. A write is atomic: the file is written under a temporary name in the same
// directory, synced and then renamed, so a reader never sees half a file. Every tool must write
// through these functions, or through a Directory (directory.h), where it does not trust what is in
// one. Symbolic links are followed here. Devices and pipes (/dev/stdout, /dev/null)
// are written directly and never count as existing output.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elixir {

enum class Overwrite { kRefuse, kAllow };

/// Call this before long work, and for all outputs before any is written, so that a bad output path
/// fails early. `flag` names the file; empty: no flag does. Throws kOutputExists (unless kAllow),
/// or kOutputUnwritable when the directory is missing or no file can be made in it.
void check_output(const std::string& path, Overwrite overwrite, std::string_view flag = "-o");

/// Writes `bytes` to `path` atomically. Throws kOutputExists, kOutputUnwritable, kDiskFull,
/// kIoError. A failure leaves no partial file.
void write_file(const std::string& path, std::string_view bytes, Overwrite overwrite);

/// Like write_file(), but `produce` appends the content piece by piece through the sink.
using Sink = std::function<void(std::string_view)>;
void write_file_streamed(const std::string& path,
                         Overwrite overwrite,
                         const std::function<void(const Sink&)>& produce);

/// Limit for documents, traces and logs, which tools read into memory as a whole.
inline constexpr std::uint64_t kLargestWholeFileBytes = std::uint64_t{1} << 30;

/// The whole content of a regular file. Throws kFileNotFound. Throws kFileUnreadable for a file of
/// more than `most_bytes`, and for pipes and devices, because their length is unknown.
[[nodiscard]] std::string read_file(const std::string& path,
                                    std::uint64_t most_bytes = kLargestWholeFileBytes);

/// For a file that does not exist: "did you mean `plan.json`?" for each name beside it that is
/// alike.
[[nodiscard]] std::vector<std::string> help_for_missing(const std::string& path);

/// Removes the temporary files of writes in progress. Async-signal-safe, because the signal handler
/// calls it before it ends the process.
void abandon_temporaries() noexcept;

/// SHA-256 as 64 lowercase hex digits (FIPS 180-4).
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  [[nodiscard]] std::string hex();  ///< finishes; call it once

 private:
  std::uint32_t state_[8];
  unsigned char block_[64];
  std::uint64_t length_bytes_ = 0;
  void compress(const unsigned char* block);
};

}  // namespace elixir
