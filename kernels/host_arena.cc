// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/host_arena.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>
#include <utility>

#include "kernels/cpu_affinity.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr int kMostNodes = 1024;

#ifdef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateWrite = 23;  // Linux 5.14; missing in older headers
#endif

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Allocates the pages of a range. Returns false when there is no memory for them.
bool populate(char* begin, char* end) {
  while (madvise(begin, static_cast<std::size_t>(end - begin), kPopulateWrite) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != EINVAL) return false;
    for (char* page = begin; page < end; page += page_bytes()) {  // an older kernel
      *static_cast<volatile char*>(page) = 0;
    }
    return true;
  }
  return true;
}

}  // namespace

std::vector<int> allowed_memory_nodes() {
  const std::vector<int> allowed = allowed_cpus();
  std::vector<int> nodes;
  for (const int node : parse_cpu_list(first_line("/sys/devices/system/node/online"))) {
    std::ostringstream path;
    path << "/sys/devices/system/node/node" << node << "/cpulist";
    const std::vector<int> cpus = parse_cpu_list(first_line(path.str()));
    const bool used = std::any_of(allowed.begin(), allowed.end(), [&](int cpu) {
      return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
    });
    if (used) nodes.push_back(node);
  }
  return nodes;
}

HostArena::HostArena(std::size_t bytes, ThreadPool* pool, const PageLock* lock) : bytes_(bytes) {
  if (bytes == 0) return;
  map();
  place_on_nodes();
  try {
    if (pool != nullptr) touch(*pool);
    if (lock != nullptr) lock_pages(*lock);
  } catch (...) {
    munmap(data_, round_up(bytes_, page_bytes()));
    throw;
  }
}

HostArena::HostArena(HostArena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      carved_bytes_(std::exchange(other.carved_bytes_, 0)),
      lock_(std::exchange(other.lock_, nullptr)),
      warning_(std::move(other.warning_)) {}

HostArena::~HostArena() {
  if (data_ == nullptr) return;
  if (lock_ != nullptr) lock_->unlock(data_);
  munmap(data_, round_up(bytes_, page_bytes()));
}

void HostArena::map() {
  // Maps one huge page more than needed, so that the range can begin at one. The rest is unmapped.
  const std::size_t kept = round_up(bytes_, page_bytes());
  const std::size_t extra = bytes_ >= kHugePageBytes ? kHugePageBytes : 0;
  if (bytes_ > SIZE_MAX - 2 * kHugePageBytes) throw std::bad_alloc();
  void* mapped = mmap(nullptr,
                      kept + extra,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1,
                      0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const base = static_cast<char*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::size_t before = extra == 0 ? 0 : round_up(address, kHugePageBytes) - address;
  if (before > 0) munmap(base, before);
  if (extra > before) munmap(base + before + kept, extra - before);
  data_ = base + before;
  static_cast<void>(madvise(data_, kept, MADV_HUGEPAGE));  // a hint; without it only speed is lost
}

void HostArena::place_on_nodes() {
  if (parse_cpu_list(first_line("/sys/devices/system/node/online")).size() < 2) return;
  const std::vector<int> nodes = allowed_memory_nodes();
  if (nodes.empty()) return;
  // If all threads are on one node, its memory comes first. If they are on several, memory is
  // spread over these: then every thread has the bandwidth of all nodes.
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, kMostNodes / kBits> mask{};
  for (const int node : nodes) {
    if (node >= kMostNodes) return;
    const auto bit = static_cast<std::size_t>(node);
    mask.at(bit / kBits) |= 1UL << (bit % kBits);
  }
  const int policy = nodes.size() == 1 ? MPOL_PREFERRED : MPOL_INTERLEAVE;
  const long status = syscall(
      SYS_mbind, data_, round_up(bytes_, page_bytes()), policy, mask.data(), kMostNodes + 1, 0);
  if (status != 0) {
    warn(std::string("host memory is not placed by NUMA node: ") + std::strerror(errno));
  }
}

void HostArena::touch(ThreadPool& pool) {
  std::atomic<bool> failed{false};
  const std::size_t kept = round_up(bytes_, page_bytes());
  pool.parallel_for(kept, kHugePageBytes, [&](std::size_t begin, std::size_t end) {
    if (!populate(data_ + begin, data_ + end)) failed = true;
  });
  if (failed) throw std::bad_alloc();
}

void HostArena::lock_pages(const PageLock& lock) {
  std::string reason;
  if (lock.lock(data_, bytes_, reason)) {
    lock_ = &lock;
    return;
  }
  std::ostringstream text;
  text << "host memory of " << bytes_ << " bytes is not page-locked (" << reason
       << "): copies to and from it are several times slower and wait for each other; raise the "
          "limit of locked memory (ulimit -l) or that of the container";
  warn(text.str());
}

void HostArena::warn(const std::string& text) {
  if (!warning_.empty()) warning_ += "; ";
  warning_ += text;
}

void* HostArena::carve(std::size_t bytes, std::size_t alignment) {
  const std::size_t begin = round_up(carved_bytes_, alignment);
  if (begin > bytes_ || bytes > bytes_ - begin) throw std::bad_alloc();
  carved_bytes_ = begin + bytes;
  return data_ + begin;
}

}  // namespace elixir::kernels
