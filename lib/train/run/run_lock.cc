// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/log.h"

namespace elixir::train {
namespace {

/// The text that the holder wrote: "process 4711 on host".
std::string holder_of(int descriptor) {
  std::array<char, 256> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size() - 1, 0);
  std::string_view holder(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  holder = holder.substr(0, holder.find('\n'));
  return holder.empty() ? std::string("another process") : std::string(holder);
}

[[noreturn]] void fail_in_use(const std::string& directory, int descriptor) {
  const std::string holder = holder_of(descriptor);
  ::close(descriptor);
  throw file_error(
      ErrorCode::kRunInUse, directory, "run directory `{}` is in use by {}", directory, holder)
      .help("wait for it or end it, or choose another run directory with -o");
}

enum class Locked { kYes, kBusy, kImpossible };
Locked try_lock(int descriptor) {
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? Locked::kBusy : Locked::kImpossible;
  }
  return Locked::kYes;
}

/// Whether `path` still names the open file. Its last owner may have removed it meanwhile.
bool names(const std::string& path, int descriptor) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void write_holder(int descriptor) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string text = fmt::format("process {} on {}\n", ::getpid(), host.data());
  // Only for people. On a full disk the lock works without it.
  if (::ftruncate(descriptor, 0) == 0) {
    static_cast<void>(!::pwrite(descriptor, text.data(), text.size(), 0));
  }
}

}  // namespace

RunLock::RunLock(int descriptor) : descriptor_(descriptor) {}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock::~RunLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunLock RunLock::acquire(const std::string& directory) {
  const std::string path = directory + "/" + kFile;
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      const int error = errno;
      throw file_error(
          error == ENOSPC || error == EDQUOT ? ErrorCode::kDiskFull : ErrorCode::kOutputUnwritable,
          path,
          "cannot write `{}`: {}",
          path,
          std::strerror(error));
    }
    const Locked locked = try_lock(descriptor);
    if (locked == Locked::kBusy) fail_in_use(directory, descriptor);
    if (locked == Locked::kImpossible) {
      log::warning(
          fmt::format("`{}` cannot be locked ({}): make sure that no other process uses "
                      "this run directory",
                      path,
                      std::strerror(errno)));
    }
    if (!names(path, descriptor)) {
      ::close(descriptor);
      continue;
    }
    write_holder(descriptor);
    return RunLock(descriptor);
  }
}

void RunLock::check_free(const std::string& directory) {
  const int descriptor = ::open((directory + "/" + kFile).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  if (try_lock(descriptor) == Locked::kBusy) fail_in_use(directory, descriptor);
  ::close(descriptor);
}

}  // namespace elixir::train
