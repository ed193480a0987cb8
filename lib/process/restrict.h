// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Takes rights away from this process, for good. Linux offers two mechanisms: seccomp lets through
// the system calls of a list, and Landlock takes every file and network port away. seccomp does
// alone; Landlock bars the same ways a second time, by another part of the kernel. What a process
// needs from files it must have read before, and threads must have been started.
//
// Sources: seccomp(2), landlock(7).

#include <cstdint>
#include <string>
#include <string_view>

#include "core/name_table.h"

namespace elixir::process {

/// What a user asks for.
enum class Sandbox : std::uint8_t {
  kAuto,     ///< restricted where the kernel can; else one line says so
  kRequire,  ///< or not at all
  kNone,     ///< not restricted
};
inline constexpr NameTable<Sandbox, 3> kSandboxNames{
    {{Sandbox::kAuto, "auto"}, {Sandbox::kRequire, "require"}, {Sandbox::kNone, "none"}}};

/// From here on this process computes, reads and writes the descriptors that it has, and ends; it
/// opens and creates nothing, connects to nobody, starts no thread and no program, and signals no
/// other process. A system call that it may not make fails with EPERM; clone3 with ENOSYS, as in
/// an old kernel. Threads that it has are restricted, too. Returns why not; empty: it is so.
[[nodiscard]] std::string restrict_this_process();

/// Closes every descriptor from `first` on, so that nothing is inherited unseen.
void close_descriptors_from(int first) noexcept;

struct Limits {
  std::uint64_t memory_bytes = 0;  ///< of address space, beyond what the process has now
  std::uint64_t processor_seconds = 0;
};
/// Writes no file, leaves no core, opens no further descriptor, and stays within `limits`: beyond
/// them an allocation fails, and SIGXCPU ends the process.
void limit_this_process(const Limits& limits);

}  // namespace elixir::process
