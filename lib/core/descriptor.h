// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// An open file, and how it is read and written as a whole. It may be hostile.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace elixir {

/// Owns a file descriptor, and closes it at the end. -1: there is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int get() const { return number_; }
  /// The caller owns it from then on.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  /// The result of close(2); 0 when there is none.
  int close();

 private:
  int number_;
};

/// `path` could not be written, made, renamed or removed: kDiskFull, kOutputUnwritable
/// (permissions, or something else is there) or kIoError, by the system's error number.
[[nodiscard]] Error change_error(const std::string& path, int number);

/// Throws kFileUnreadable unless it is a regular file. Open with O_NONBLOCK, because opening a pipe
/// must not wait for a writer. `path` is for messages, here and below.
void check_regular(const Descriptor& file, const std::string& path);

/// The whole content. Throws as check_regular(), kFileUnreadable for more than `most_bytes`, and
/// kIoError when the disk does not give what the file has.
[[nodiscard]] std::string read_all(const Descriptor& file,
                                   const std::string& path,
                                   std::uint64_t most_bytes);

/// Writes what `produce` appends, in large pieces. Either every byte reaches the file, or it throws
/// change_error().
void write_all(const Descriptor& file,
               const std::string& path,
               const std::function<void(const std::function<void(std::string_view)>&)>& produce);

}  // namespace elixir
