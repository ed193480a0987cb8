// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/host_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace elixir::kernels {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20;

std::size_t resident_pages(const HostArena& arena) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_core((arena.bytes() + page - 1) / page);
  if (mincore(arena.data(), arena.bytes(), in_core.data()) != 0) return 0;
  return static_cast<std::size_t>(std::count_if(
      in_core.begin(), in_core.end(), [](unsigned char flags) { return (flags & 1) != 0; }));
}

std::size_t mapped_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(HostArena, IsZeroedWritableAndThereBeforeItIsUsed) {
  ThreadPool pool(2);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, 3 * kMi + 17, 64 * kMi}) {
    const HostArena arena(bytes, &pool);
    EXPECT_EQ(arena.bytes(), bytes);
    EXPECT_EQ(resident_pages(arena), (bytes + 4095) / 4096);
    EXPECT_TRUE(std::all_of(arena.data(), arena.data() + bytes, [](char c) { return c == 0; }));
    std::memset(arena.data(), 1, bytes);
    EXPECT_EQ(arena.warning(), "");
    EXPECT_FALSE(arena.locked());
  }
}

TEST(HostArena, TakesPagesLaterWithoutAPool) {
  const HostArena arena(64 * kMi);
  EXPECT_EQ(resident_pages(arena), 0U);
}

TEST(HostArena, MapsItsSizeAndNoPowerOfTwoAndGivesItBack) {
  const std::size_t before = mapped_bytes();
  {
    const HostArena arena(1025 * kMi);
    const std::size_t taken = mapped_bytes() - before;
    EXPECT_GE(taken, 1025 * kMi);
    EXPECT_LE(taken, 1026 * kMi);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % (2 * kMi), 0U);
  }
  EXPECT_LE(mapped_bytes(), before + kMi);
}

TEST(HostArena, CarvesAlignedPartsThatDoNotOverlapUntilItIsFull) {
  std::mt19937 random(3);
  HostArena arena(kMi + 5);
  std::uintptr_t end = reinterpret_cast<std::uintptr_t>(arena.data());
  std::size_t parts = 0;
  try {
    while (true) {
      const std::size_t alignment = std::size_t{1} << random() % 13, bytes = random() % 9000;
      const auto at = reinterpret_cast<std::uintptr_t>(arena.carve(bytes, alignment));
      EXPECT_EQ(at % alignment, 0U);
      EXPECT_GE(at, end);
      end = at + bytes;
      EXPECT_LE(end, reinterpret_cast<std::uintptr_t>(arena.data()) + arena.bytes());
      ++parts;
    }
  } catch (const std::bad_alloc&) {
    EXPECT_GT(parts, 50U);
  }
  HostArena exact(512);
  EXPECT_EQ(exact.carve(512, 256), exact.data());
  EXPECT_THROW(static_cast<void>(exact.carve(1, 1)), std::bad_alloc);
}

TEST(HostArena, RefusesWhatNoMachineHas) {
  EXPECT_THROW(HostArena(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_THROW(HostArena(SIZE_MAX), std::bad_alloc);
}

int unlocked = 0;
std::size_t locked_bytes = 0;

TEST(HostArena, LocksOnceAndUnlocksOnce) {
  ThreadPool pool(2);
  const PageLock lock = {[](void*, std::size_t bytes, std::string&) {
                           locked_bytes += bytes;
                           return true;
                         },
                         [](void*) { ++unlocked; }};
  unlocked = 0;
  locked_bytes = 0;
  {
    HostArena arena(kMi, &pool, &lock);
    EXPECT_TRUE(arena.locked());
    EXPECT_EQ(locked_bytes, kMi);
    const HostArena moved = std::move(arena);
    EXPECT_TRUE(moved.locked());
    EXPECT_EQ(unlocked, 0);
  }
  EXPECT_EQ(unlocked, 1);
}

TEST(HostArena, WorksUnlockedAndSaysWhy) {
  ThreadPool pool(2);
  const PageLock lock = {[](void*, std::size_t, std::string& reason) {
                           reason = "not today";
                           return false;
                         },
                         [](void*) { ++unlocked; }};
  unlocked = 0;
  {
    const HostArena arena(kMi, &pool, &lock);
    EXPECT_FALSE(arena.locked());
    EXPECT_NE(arena.warning().find("1048576 bytes is not page-locked (not today)"),
              std::string::npos)
        << arena.warning();
    arena.data()[kMi - 1] = 1;
  }
  EXPECT_EQ(unlocked, 0);
}

TEST(HostArena, AnEmptyOneHasNoMemory) {
  const HostArena arena(0);
  EXPECT_EQ(arena.data(), nullptr);
}

TEST(MemoryNodes, AreThoseOfTheAllowedCpus) {
  // Every machine has at least one; containers may hide them all.
  if (std::ifstream("/sys/devices/system/node/online").good()) {
    EXPECT_FALSE(allowed_memory_nodes().empty());
  } else {
    EXPECT_TRUE(allowed_memory_nodes().empty());
  }
}

}  // namespace
}  // namespace elixir::kernels
