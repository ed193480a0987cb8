// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/shared_host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace elixir::runtime {
namespace {

/// Where the others find rank 0's file. The file's number tells whether it is that one: in another
/// container the same process id is another process.
struct RootFile {
  std::int64_t process = 0;
  int descriptor = -1;
  std::uint64_t device = 0, number = 0;
};

bool describe(int descriptor, RootFile& file) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return false;
  file.device = status.st_dev;
  file.number = status.st_ino;
  return true;
}

/// A descriptor of rank 0's file, or -1.
int open_file(const RootFile& file) {
  const std::string path = fmt::format("/proc/{}/fd/{}", file.process, file.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  RootFile found;
  if (descriptor >= 0 && describe(descriptor, found) && found.device == file.device &&
      found.number == file.number) {
    return descriptor;
  }
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

}  // namespace

std::unique_ptr<SharedHostMemory> SharedHostMemory::make(Communicator& ranks, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  bytes = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  RootFile file;
  int descriptor = -1;
  if (ranks.rank() == 0) {
    descriptor = ::memfd_create("elixir-ranks", MFD_CLOEXEC);
    file.process = ::getpid();
    file.descriptor = descriptor;
    if (descriptor >= 0 &&
        (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 || !describe(descriptor, file))) {
      file.descriptor = -1;
    }
  }
  ranks.broadcast(0, &file, sizeof file);
  if (ranks.rank() != 0) descriptor = open_file(file);
  void* data = MAP_FAILED;
  if (descriptor >= 0 && file.descriptor >= 0) {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  std::unique_ptr<SharedHostMemory> memory;
  if (data != MAP_FAILED) memory.reset(new SharedHostMemory(data, bytes));
  // Rank 0's descriptor stays open until all have seen it.
  const bool all = on_all_ranks(ranks, memory != nullptr);
  if (descriptor >= 0) ::close(descriptor);
  return all ? std::move(memory) : nullptr;
}

SharedHostMemory::~SharedHostMemory() {
  ::munmap(data_, bytes_);
}

}  // namespace elixir::runtime
