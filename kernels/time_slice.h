// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Time slices of threads that have little to do, but have to do it at once.

namespace elixir::kernels {

/// Asks for short time slices for the calling thread. When it wakes up on a core that is busy, it
/// then runs within a fraction of a millisecond; otherwise it may wait for the other thread's slice
/// of several milliseconds. Needs no privilege and takes no core time from others. Works on Linux
/// 6.12 and newer; older systems ignore it.
void ask_for_short_time_slices();

}  // namespace elixir::kernels
