// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads and writes safetensors files: eight bytes of header length (little endian), a JSON header,
// then the bytes of the tensors. Reading is strict, because a file may be hostile. Offsets must
// cover the data exactly, in order, without gaps or overlaps, and must agree with shape and dtype.
// Otherwise reading throws kBadSafetensors with the byte offset. Each tensor is read only when it
// is requested.

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
  std::string dtype_text;  ///< as in the file: "F32", "BF16", …
  std::optional<program::DType>
      dtype;  ///< nullopt for a valid dtype that programs lack ("F8_E4M3")
  std::vector<std::int64_t> sizes;
  std::int64_t offset_bytes = 0;  ///< from the start of the file
  std::int64_t bytes = 0;
};

class Safetensors {
 public:
  /// Throws kFileNotFound, kFileUnreadable, kBadSafetensors.
  static std::shared_ptr<const Safetensors> open(const std::string& path);
  static std::shared_ptr<const Safetensors> open(std::shared_ptr<const InputFile> file);

  [[nodiscard]] const std::string& path() const { return file_->path(); }
  /// In the order of their data.
  [[nodiscard]] const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  [[nodiscard]] const SafetensorsEntry* find(const std::string& name) const;
  /// The header's `__metadata__`.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Returns a contiguous tensor. Throws kBadSafetensors when programs lack the dtype of `entry`,
  /// and kIoError when the file was truncated after it was opened.
  [[nodiscard]] at::Tensor tensor(const SafetensorsEntry& entry) const;
  /// The rows (dimension 0) starting at `first`.
  [[nodiscard]] at::Tensor rows(const SafetensorsEntry& entry,
                                std::int64_t first,
                                std::int64_t count) const;
  /// Fills `into`, contiguous and of the dtype of `entry`, with elements from `first` on in the
  /// order of the file.
  void read_elements(const SafetensorsEntry& entry,
                     std::int64_t first,
                     const at::Tensor& into) const;

 private:
  [[nodiscard]] at::Tensor read(const SafetensorsEntry& entry,
                                const std::vector<std::int64_t>& sizes,
                                std::int64_t skipped_bytes) const;

  std::shared_ptr<const InputFile> file_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, std::string> metadata_;
};

/// One tensor to write. `read` is called when the tensor is written, so that only one tensor at a
/// time is in memory.
struct SafetensorsSource {
  std::string name;
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::function<at::Tensor()> read;
};

/// What appends such a file to a sink (files.h). The widest dtypes come first, then by name, so
/// that every tensor is aligned.
[[nodiscard]] std::function<void(const Sink&)> safetensors_content(
    std::vector<SafetensorsSource> tensors, const std::map<std::string, std::string>& metadata);
/// Writes it atomically.
void write_safetensors(const std::string& path,
                       std::vector<SafetensorsSource> tensors,
                       const std::map<std::string, std::string>& metadata,
                       Overwrite overwrite);

}  // namespace elixir::train
