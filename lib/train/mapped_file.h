// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A file mapped read-only: weights, training data and checkpoints are read through it, so that only
// the touched pages cost memory. The mapping lives as long as the object; a file that another
// process cuts meanwhile is beyond repair, as for every mapping.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace elixir::train {

class MappedFile {
 public:
  /// kFileNotFound, kFileUnreadable (a directory included). An empty file maps to an empty span.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::span<const unsigned char> bytes() const { return {data_, size_bytes_}; }

 private:
  MappedFile(std::string path, const unsigned char* data, std::size_t size_bytes);
  std::string path_;
  const unsigned char* data_;
  std::size_t size_bytes_;
};

/// Digest of a file's content: SHA-256 over the concatenated SHA-256 digests (hex text) of its 4
/// MiB blocks, so that it is computed on all cores. 64 lowercase hex digits.
[[nodiscard]] std::string digest_of_file(const std::string& path);

}  // namespace elixir::train
