// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/descriptor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/file_error.h"

namespace elixir {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::close() {
  const int number = release();
  return number < 0 ? 0 : ::close(number);
}

Error change_error(const std::string& path, int number) {
  const std::string reason = std::generic_category().message(number);
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return file_error(ErrorCode::kDiskFull, path, "no room to write `{}`: {}", path, reason)
          .help("free space or choose another place; nothing was left behind");
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return file_error(ErrorCode::kOutputUnwritable, path, "cannot write `{}`: {}", path, reason);
    default:
      return file_error(ErrorCode::kIoError, path, "cannot write `{}`: {}", path, reason);
  }
}

void check_regular(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) return;
  throw file_error(ErrorCode::kFileUnreadable,
                   path,
                   "cannot read `{}`: it is {}",
                   path,
                   S_ISDIR(status.st_mode) ? "a directory" : "no plain file")
      .help(S_ISDIR(status.st_mode)
                ? std::vector<std::string>{}
                : std::vector<std::string>{"save what it gives to a file first"});
}

std::string read_all(const Descriptor& file, const std::string& path, std::uint64_t most_bytes) {
  check_regular(file, path);
  struct stat status {};
  const bool known = ::fstat(file.get(), &status) == 0;
  const auto expected = known ? static_cast<std::uint64_t>(status.st_size) : 0;
  const auto check_size = [&](std::uint64_t bytes) {
    if (bytes <= most_bytes) return;
    throw file_error(ErrorCode::kFileUnreadable,
                     path,
                     "`{}` has {} bytes; at most {} are read",
                     path,
                     bytes,
                     most_bytes);
  };
  check_size(expected);
  std::string content;
  content.reserve(expected + 1);
  // Do not rely on st_size: it is 0 in /proc, and a file may grow while it is read.
  std::vector<char> block(std::size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      throw file_error(
          ErrorCode::kIoError, path, "cannot read `{}`: {}", path, std::strerror(errno));
    }
    if (got == 0) return content;
    content.append(block.data(), static_cast<std::size_t>(got));
    check_size(content.size());
  }
}

void write_all(const Descriptor& file,
               const std::string& path,
               const std::function<void(const std::function<void(std::string_view)>&)>& produce) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  const auto put = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) throw change_error(path, errno);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  };
  std::string buffer;
  const auto flush = [&] {
    put(buffer);
    buffer.clear();
  };
  produce([&](std::string_view bytes) {
    if (buffer.size() + bytes.size() > kPieceBytes) flush();
    if (bytes.size() > kPieceBytes) {
      put(bytes);
    } else {
      buffer.append(bytes);
    }
  });
  flush();
}

}  // namespace elixir
