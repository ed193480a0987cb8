// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The screen of elixir-profile: what one training step takes, where its peak is and what makes it.

#include <string>

#include "memory/timeline.h"
#include "program/document.h"

namespace elixir::report {

/// `timeline` is that of `profile`'s program and optimizer.
[[nodiscard]] std::string profile_screen(const program::Profile& profile,
                                         const memory::Timeline& timeline);

}  // namespace elixir::report
