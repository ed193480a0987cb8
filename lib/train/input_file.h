// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/train: a training run around its steps; data, weights and the run have a folder each.
//
// A file that is read piece by piece while it may change: weights, training data and checkpoints.
// Read, not mapped, because a mapped file that another process cuts ends this one by SIGBUS; a read
// beyond the new end is an error like any other.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/descriptor.h"
#include "core/directory.h"

namespace elixir::train {

class InputFile {
 public:
  /// Throws kFileNotFound; kFileUnreadable, also for anything but a regular file.
  static std::shared_ptr<const InputFile> open(const std::string& path);
  /// A file of a held directory. No link is followed.
  static std::shared_ptr<const InputFile> open(const Directory& directory, const std::string& name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The size when the file was opened.
  [[nodiscard]] std::int64_t size_bytes() const { return size_bytes_; }
  /// Fills `to`. Safe from any thread. Throws kIoError when the file is shorter now, or was
  /// replaced.
  void read(std::int64_t offset_bytes, void* to, std::size_t bytes) const;

 private:
  InputFile(std::string path, Descriptor opened);
  /// A new descriptor for the same file.
  [[nodiscard]] Descriptor opened_again() const;

  std::string path_;
  Descriptor kept_;  ///< none: the file is opened for each read
  std::int64_t size_bytes_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;
};

enum class OnInterrupt : std::uint8_t { kGoOn, kThrow };
/// Digest of a file's content, 64 lowercase hex digits. It is the SHA-256 over the concatenated
/// SHA-256 digests (hex text) of the file's 4 MiB blocks, so that all cores can compute it. With
/// kThrow, an interrupt (core/interrupt.h) throws Interrupted.
[[nodiscard]] std::string digest_of_file(const InputFile& file, OnInterrupt on_interrupt);

}  // namespace elixir::train
