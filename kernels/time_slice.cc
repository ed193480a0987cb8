// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace elixir::kernels {
namespace {

constexpr std::uint64_t kSliceNs = 100'000;  // the shortest that the kernel grants

/// The kernel's struct sched_attr, version 0. The C library does not have it before glibc 2.41.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  ///< ordinary policy: the slice
  std::uint64_t deadline_ns = 0, period_ns = 0;
};

}  // namespace

void ask_for_short_time_slices() {
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime_ns = kSliceNs;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace elixir::kernels
