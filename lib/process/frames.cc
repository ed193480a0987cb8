// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/frames.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

#include "core/error.h"

namespace elixir::process {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(std::uint32_t) + sizeof(std::uint64_t);

/// Reads until `count` bytes have come, or the end. Returns how many came.
std::size_t read_some(int descriptor, char* buffer, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(descriptor, buffer + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::kIoError,
                  "cannot read from a pipe: {}",
                  std::generic_category().message(errno));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void read_all(int descriptor, char* buffer, std::size_t count) {
  if (read_some(descriptor, buffer, count) != count) {
    throw Error(ErrorCode::kIoError, "a pipe ended inside a message");
  }
}

/// While it lives, a pipe that nobody reads is an error of the write, not a signal.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    if (failed_ && sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  void failed() { failed_ = true; }

 private:
  sigset_t pipe_{}, before_{};
  bool failed_ = false;
};

void write_all(int descriptor, const char* bytes, std::size_t count) {
  NoPipeSignal guard;
  while (count > 0) {
    const ssize_t written = ::write(descriptor, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      guard.failed();
      throw Error(ErrorCode::kIoError,
                  "cannot write to a pipe: {}",
                  std::generic_category().message(errno));
    }
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

}  // namespace

std::optional<FrameHeader> read_header(int descriptor) {
  std::array<char, kHeaderBytes> bytes{};
  const std::size_t got = read_some(descriptor, bytes.data(), bytes.size());
  if (got == 0) return std::nullopt;
  if (got < bytes.size()) throw Error(ErrorCode::kIoError, "a pipe ended inside a message");
  FrameHeader header;
  std::memcpy(&header.type, bytes.data(), sizeof header.type);
  std::memcpy(&header.bytes, bytes.data() + sizeof header.type, sizeof header.bytes);
  return header;
}

std::string read_body(int descriptor, const FrameHeader& header, std::uint64_t most_bytes) {
  if (header.bytes > most_bytes) {
    throw Error(ErrorCode::kIoError,
                "a message of {} bytes, where {} are the most",
                header.bytes,
                most_bytes);
  }
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  std::string body;
  while (body.size() < header.bytes) {
    const std::size_t before = body.size();
    body.resize(before + std::min<std::uint64_t>(header.bytes - before, kPieceBytes));
    read_all(descriptor, body.data() + before, body.size() - before);
  }
  return body;
}

void read_body_into(int descriptor, const FrameHeader& header, void* buffer, std::uint64_t bytes) {
  if (header.bytes != bytes) {
    throw Error(
        ErrorCode::kIoError, "a message of {} bytes, where {} were to come", header.bytes, bytes);
  }
  read_all(descriptor, static_cast<char*>(buffer), bytes);
}

void write_frame(int descriptor, std::uint32_t type, std::string_view bytes) {
  std::array<char, kHeaderBytes> header{};
  const std::uint64_t count = bytes.size();
  std::memcpy(header.data(), &type, sizeof type);
  std::memcpy(header.data() + sizeof type, &count, sizeof count);
  write_all(descriptor, header.data(), header.size());
  write_all(descriptor, bytes.data(), bytes.size());
}

}  // namespace elixir::process
