// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Safetensors files: eight bytes of header length (little endian), a JSON header, then the tensors'
// bytes. Reading is strict, because the file is hostile until read: offsets must cover the data
// exactly, in order of their begin, without hole or overlap, and agree with shape and dtype; every
// other file is kBadSafetensors with the byte offset. A tensor is read when it is asked for.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/files.h"
#include "program/program.h"
#include "train/input_file.h"

namespace elixir::train {

struct SafetensorsEntry {
  std::string name;
  std::string dtype_text;  ///< the file's: "F32", "BF16", …
  std::optional<program::DType>
      dtype;  ///< nullopt for a valid dtype that no program has ("F8_E4M3")
  std::vector<std::int64_t> sizes;
  std::int64_t offset_bytes = 0;  ///< from the start of the file
  std::int64_t bytes = 0;
};

class Safetensors {
 public:
  /// kFileNotFound, kFileUnreadable, kBadSafetensors.
  static std::shared_ptr<const Safetensors> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return file_->path(); }
  /// In the order of their data.
  [[nodiscard]] const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  [[nodiscard]] const SafetensorsEntry* find(const std::string& name) const;
  /// The header's `__metadata__`.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Contiguous. kBadSafetensors when `entry` has a dtype that programs lack, kIoError when the
  /// file was cut since it was opened.
  [[nodiscard]] at::Tensor tensor(const SafetensorsEntry& entry) const;
  /// Rows (dimension 0) from `first` on.
  [[nodiscard]] at::Tensor rows(const SafetensorsEntry& entry,
                                std::int64_t first,
                                std::int64_t count) const;

 private:
  [[nodiscard]] at::Tensor read(const SafetensorsEntry& entry,
                                const std::vector<std::int64_t>& sizes,
                                std::int64_t skipped_bytes) const;

  std::shared_ptr<const InputFile> file_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, std::string> metadata_;
};

/// One tensor to write; `read` gives it when its turn comes, so that one tensor at a time is in
/// memory.
struct SafetensorsSource {
  std::string name;
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::function<at::Tensor()> read;
};

/// Writes atomically (files.h); widest dtypes first, then by name, so that every tensor is aligned.
void write_safetensors(const std::string& path,
                       std::vector<SafetensorsSource> tensors,
                       const std::map<std::string, std::string>& metadata,
                       Overwrite overwrite);

}  // namespace elixir::train
