// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/units.h"

namespace elixir::train {
MappedFile::MappedFile(std::string path, const unsigned char* data, std::size_t size_bytes)
    : path_(std::move(path)), data_(data), size_bytes_(size_bytes) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), size_bytes_);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe does not wait for a writer. Plain files do not know it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      fail_in_file(ErrorCode::kFileNotFound, path, "no such file: `" + path + "`");
    }
    fail_in_file(
        ErrorCode::kFileUnreadable, path, "cannot read `" + path + "`: " + std::strerror(error));
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    fail_in_file(ErrorCode::kFileUnreadable, path, "`" + path + "` is not a regular file");
  }
  const auto size_bytes = static_cast<std::size_t>(status.st_size);
  void* data = nullptr;
  if (size_bytes > 0) {
    data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  const int error = errno;
  ::close(descriptor);
  if (data == MAP_FAILED) {
    fail_in_file(
        ErrorCode::kFileUnreadable, path, "cannot map `" + path + "`: " + std::strerror(error));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const unsigned char*>(data), size_bytes));
}

std::string digest_of_file(const std::string& path) {
  constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const std::size_t blocks = (bytes.size() + kBlockBytes - 1) / kBlockBytes;
  std::vector<std::string> digests(blocks);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t block = next++; block < blocks; block = next++) {
      const auto part = bytes.subspan(block * kBlockBytes,
                                      std::min(kBlockBytes, bytes.size() - block * kBlockBytes));
      digests[block] = sha256_hex({reinterpret_cast<const char*>(part.data()), part.size()});
    }
  };
  const std::size_t helpers =
      std::min<std::size_t>(blocks, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < helpers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  Sha256 all;
  for (const std::string& digest : digests) all.update(digest);
  return all.hex();
}

}  // namespace elixir::train
