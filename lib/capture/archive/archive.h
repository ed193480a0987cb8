// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A TorchScript archive whose weights are not read. LibTorch's loader reads it through an adapter.
// The adapter skips every `data/…` record and remembers where its bytes are, so that they can be
// read by name later.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <caffe2/serialize/read_adapter_interface.h>

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace elixir::capture {

struct RecordProblem;

/// A piece of the archive file.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

class Archive final : public caffe2::serialize::ReadAdapterInterface {
 public:
  /// Opens the archive and finds its records. Throws kFileNotFound, kFileUnreadable,
  /// kNotTorchScript, kTruncatedArchive.
  static std::shared_ptr<Archive> open(const std::string& path);
  ~Archive() override;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  [[nodiscard]] std::size_t size() const override { return size_; }
  std::size_t read(std::uint64_t position,
                   void* buffer,
                   std::size_t bytes,
                   const char* what) const override;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The position of the bytes for `buffer`, if reading them was skipped.
  [[nodiscard]] std::optional<ByteRange> skipped_at(const void* buffer) const;
  /// Forgets the buffers of a finished load.
  void forget_buffers();
  /// Reads `bytes` of a record of weights from its byte `first` on. Reads the whole record and
  /// checks its checksum, if the writer left one; of a record that is read in parts, once. Throws
  /// kTruncatedArchive, with the record's name, when the checksum differs or the record is too
  /// short or missing.
  void fetch_weights(const ByteRange& record,
                     std::uint64_t first,
                     void* buffer,
                     std::uint64_t bytes) const;
  /// Throws kTruncatedArchive, with the record's name, when fewer than `bytes` are stored.
  void check_weights(const ByteRange& record, std::uint64_t bytes) const;
  [[nodiscard]] bool has_record(const std::string& name) const;
  [[nodiscard]] std::string record(const std::string& name) const;

 private:
  Archive(std::string path, int descriptor, std::size_t size);
  void find_records();
  /// Throws kNotTorchScript.
  void require_code() const;
  void refuse_overlaps() const;
  /// The last of the records that are not read which begins at `position` or before; nullptr where
  /// none does.
  [[nodiscard]] const ByteRange* last_tensor_from(std::uint64_t position) const;
  /// Checks pickles and code. Must run before LibTorch's loader, which trusts them.
  void check_contents(caffe2::serialize::PyTorchStreamReader& reader) const;
  [[noreturn]] void refuse(const RecordProblem& problem) const;
  /// Checks everything except the weights, whose checksums are kept for later.
  void verify_checksums(caffe2::serialize::PyTorchStreamReader& reader);
  /// Reads a piece of the file. Throws kTruncatedArchive when the file is too short.
  void fetch(const ByteRange& range, void* buffer) const;
  /// Of a piece of the file; `before` is that of what lies before it.
  [[nodiscard]] std::uint32_t checksum_of(std::uint32_t before, const ByteRange& range) const;

  std::string path_;
  int descriptor_;
  std::size_t size_;
  std::vector<ByteRange> skipped_;  ///< ascending
  std::unordered_map<std::string, ByteRange> records_;
  struct Weights {
    std::string name;
    std::uint32_t checksum = 0;  ///< 0: none
  };
  std::map<std::uint64_t, Weights> weights_;  ///< by the record's offset
  mutable std::mutex mutex_;
  mutable std::unordered_map<const void*, ByteRange> skipped_buffers_;
  mutable std::unordered_set<std::uint64_t> checked_;  ///< offsets of records with a right checksum
};

}  // namespace elixir::capture
