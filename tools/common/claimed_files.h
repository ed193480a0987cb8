// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The files that one run of a tool reads and writes. --force replaces files, so an output that is
// also an input would destroy it, and if two outputs are the same file, the first would be lost.
// Both are refused here, for every tool, before anything is written. Flags declare their files
// (Flag::reads, Flag::writes). A tool must add files that no flag names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elixir::tools {

class ClaimedFiles {
 public:
  /// `who` names `path` in messages: the flag, or words such as "the resumed run". An input that
  /// does not exist is ignored, because it cannot be lost and reading it gives the right error. All
  /// three throw kConflictingFlags.
  void reads(const std::string& who, const std::string& path);
  void writes(const std::string& who, const std::string& path);
  /// A directory whose content is replaced. No file that is read or written may be inside.
  void replaces_directory(const std::string& who, const std::string& path);

 private:
  /// The file that a path names. Links are followed. A name that does not exist yet is identified
  /// by its directory. Devices and pipes do not count, because they may be read and written at
  /// once.
  struct File {
    std::string who, path;  // as given
    bool exists = false;
    std::uint64_t device = 0, inode = 0;
    std::string canonical;
  };
  [[nodiscard]] static std::optional<File> file_at(const std::string& who, const std::string& path);
  [[nodiscard]] static bool same(const File& a, const File& b);
  [[nodiscard]] static bool is_within(const File& file, const File& directory);

  std::vector<File> inputs_, outputs_, directories_;
};

}  // namespace elixir::tools
