// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A directory that is held open. What it does to files is done in that directory, whatever its path
// names by then, and to the name itself: no symbolic link is followed. So what somebody has put
// there leads nowhere else. Files are written as in files.h.
//
// A name is one component of a path. Whoever takes it from a document must check it before; another
// name is a bug (kInternal). What fails while something is changed throws kDiskFull,
// kOutputUnwritable (permissions, and what is in the way) or kIoError; what fails while something
// is read throws kFileNotFound, kFileUnreadable or kIoError.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/files.h"

namespace elixir {

class Directory {
 public:
  /// Links in `path` itself are followed: whoever calls means that path.
  static Directory open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// For messages.
  [[nodiscard]] std::string file(const std::string& name) const {
    return path_ == "." ? name : path_ + "/" + name;
  }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Whether path() still names this directory.
  [[nodiscard]] bool is_in_place() const;

  enum class Kind : std::uint8_t { kNothing, kFile, kDirectory, kOther };
  [[nodiscard]] Kind kind_of(const std::string& name) const;
  /// The names of everything in it, in no order.
  [[nodiscard]] std::vector<std::string> names() const;

  /// The directory `name`; nullopt: nothing has this name. Throws kFileUnreadable for anything
  /// else.
  [[nodiscard]] std::optional<Directory> find(const std::string& name) const;
  /// The directory `name`, made and synced where there is none. Throws kOutputUnwritable when
  /// something else is in the way.
  Directory make(const std::string& name) const;

  /// A regular file, to read.
  [[nodiscard]] Descriptor open_file(const std::string& name) const;
  /// A regular file, made where there is none, with the flags of open(2). It is written in place,
  /// so a file with another name elsewhere is refused (kOutputUnwritable).
  [[nodiscard]] Descriptor open_to_change(const std::string& name, int flags) const;
  [[nodiscard]] std::string read(const std::string& name,
                                 std::uint64_t most_bytes = kLargestWholeFileBytes) const;

  /// As write_file() and write_file_streamed().
  void write(const std::string& name, std::string_view bytes, Overwrite overwrite) const;
  void write_streamed(const std::string& name,
                      Overwrite overwrite,
                      const std::function<void(const Sink&)>& produce) const;
  /// Throws as write() would, except for lack of room.
  void check_can_make(const std::string& name) const;
  /// Throws kOutputExists when `to` is taken.
  void rename(const std::string& from, const std::string& to) const;
  /// With all that is in it. Nothing of this name: does nothing.
  void remove(const std::string& name) const;
  /// Removes temporary files of `name` that a killed process has left (files.h).
  void remove_abandoned(const std::string& name) const;
  void sync() const;

 private:
  Directory(std::string path, Descriptor descriptor);
  std::string path_;
  Descriptor descriptor_;
};

/// Makes the directory `path` and those above it that are missing. Each is on the disk when this
/// returns. Throws as the changes of a Directory.
void make_directories(const std::string& path);

/// Whether `name` is a temporary name of `target` (files.h).
[[nodiscard]] bool is_temporary_of(const std::string& name, const std::string& target);

}  // namespace elixir
