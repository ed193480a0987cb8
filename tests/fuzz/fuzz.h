// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Shared by the fuzz targets. A target defines LLVMFuzzerTestOneInput, so that both libFuzzer and
// our driver can run it. A target may refuse its input with an Error. Findings are: an Error that
// is a bug (EX0901), any other exception, a crash, ten seconds, or two gigabytes.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"

namespace elixir::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs a reader. Refusing the input is right; any other exception is a finding.
template <class Read>
void refuses_or_reads(Read read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.info().code != ErrorCode::kInternal) return;
    std::fprintf(stderr, "a bug by its own account: %s\n", error.what());
    std::abort();
  }
}

/// The input as a file, for readers that need a path.
class InputFile {
 public:
  explicit InputFile(std::string_view content) : file_(::memfd_create("input", MFD_CLOEXEC)) {
    if (::write(file_, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
      std::abort();
    }
  }
  ~InputFile() { ::close(file_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }
  [[nodiscard]] int descriptor() const { return file_; }

 private:
  int file_;
};

}  // namespace elixir::fuzz
