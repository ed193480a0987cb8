// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A TorchScript archive whose weights are not read. LibTorch's loader reads it through an adapter.
// The adapter skips every `data/…` record and remembers where its bytes are, so that they can be
// read by name later. Damage of an honest file is found by its checksums. A hostile file can still
// end the process that loads it: tools load models in a process of its own (tools/elixir-capture).

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <caffe2/serialize/read_adapter_interface.h>

#include "model/data_file.h"

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace elixir::capture {

class Archive final : public caffe2::serialize::ReadAdapterInterface {
 public:
  /// Finds the records of an archive. Throws kNotTorchScript, kTruncatedArchive.
  static std::shared_ptr<Archive> open(std::shared_ptr<const model::DataFile> file);

  [[nodiscard]] std::size_t size() const override { return file_->bytes(); }
  std::size_t read(std::uint64_t position,
                   void* buffer,
                   std::size_t bytes,
                   const char* what) const override;

  [[nodiscard]] const model::DataFile& file() const { return *file_; }
  [[nodiscard]] const std::string& path() const { return file_->path(); }
  /// The record of the bytes for `buffer`, if reading them was skipped.
  [[nodiscard]] std::optional<model::Record> skipped_at(const void* buffer) const;
  /// Forgets the buffers of a finished load.
  void forget_buffers();
  [[nodiscard]] bool has_record(const std::string& name) const;
  /// The content of a record that is not compressed.
  [[nodiscard]] std::string record(const std::string& name) const;

 private:
  explicit Archive(std::shared_ptr<const model::DataFile> file) : file_(std::move(file)) {}
  void find_records();
  /// Throws kNotTorchScript.
  void require_code() const;
  /// Checks everything except the weights, whose checksums are kept for later.
  void verify_checksums(caffe2::serialize::PyTorchStreamReader& reader);

  std::shared_ptr<const model::DataFile> file_;
  std::unordered_map<std::string, model::Record> records_;
  std::map<std::uint64_t, model::Record> skipped_;  ///< `data/…`, by offset
  mutable std::mutex mutex_;
  mutable std::unordered_map<const void*, model::Record> skipped_buffers_;
};

}  // namespace elixir::capture
