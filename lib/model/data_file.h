// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The bytes of a model file. Whoever reads a tensor says where its record lies; the position may
// come from a process that is not trusted, so it is checked against the file, and the bytes against
// the record's checksum.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "core/descriptor.h"
#include "core/error.h"

namespace elixir::model {

/// A record of an archive that holds the bytes of tensors.
struct Record {
  std::string name;  ///< "data/12"
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  ///< CRC-32; 0: the writer left none
};

class DataFile {
 public:
  /// Throws kFileNotFound; kFileUnreadable, also for pipes and devices.
  static std::shared_ptr<const DataFile> open(const std::string& path);
  /// A file that is open. `path` is its name in messages.
  DataFile(Descriptor file, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Reads a piece of the file. Throws kTruncatedArchive when the file is too short.
  void read(std::uint64_t offset, std::uint64_t bytes, void* buffer) const;
  /// Reads `bytes` of a record from its byte `first` on. Reads the whole record and checks its
  /// checksum, if it has one; of a record that is read in parts, once. Throws kTruncatedArchive,
  /// with the record's name, when the checksum differs or the record is too short.
  void read(const Record& record, std::uint64_t first, std::uint64_t bytes, void* buffer) const;
  /// Throws kTruncatedArchive when fewer than `bytes` are stored.
  void check(const Record& record, std::uint64_t bytes) const;
  /// kTruncatedArchive at a place in this file.
  [[nodiscard]] Error damage(std::uint64_t offset, std::string message) const;

 private:
  [[nodiscard]] std::uint32_t checksum_of(std::uint32_t before,
                                          std::uint64_t offset,
                                          std::uint64_t bytes) const;

  Descriptor file_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::unordered_set<std::uint64_t> checked_;  ///< offsets of records that are whole
};

}  // namespace elixir::model
