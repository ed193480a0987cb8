// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The files of one run of a tool: those it reads and those it writes. --force replaces files, so an
// output that is an input would destroy it, and of two outputs that are one file the first would be
// lost. Both are refused here, for every tool, before anything is written. Flags say what their
// values are (Flag::reads, Flag::writes); a tool adds what no flag names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elixir::tools {

class ClaimedFiles {
 public:
  /// `who` is the flag, or words such as "the resumed run", that names `path`. A file that does not
  /// exist yet cannot be lost: reading it says what is wrong. All three throw kConflictingFlags.
  void reads(const std::string& who, const std::string& path);
  void writes(const std::string& who, const std::string& path);
  /// A directory whose content is replaced: nothing that is read or written may lie in it.
  void replaces_directory(const std::string& who, const std::string& path);

 private:
  /// What a path names. Links are followed; a name that does not exist yet is known by its
  /// directory. Devices and pipes, which may be read and written at once, are no files here.
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
