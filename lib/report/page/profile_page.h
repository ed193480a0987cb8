// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// elixir-profile's report as one HTML page that needs nothing else: no network (its content
// security policy forbids any), no library. Light or dark as the reader's system is. Pictures and
// tables are there without a script; the script adds what is under the pointer. The same profile
// gives the same bytes. docs/memory-report.md explains every number.

#include <string>

#include "memory/step/training_step.h"
#include "program/document.h"

namespace elixir::report {

/// `step` is that of `profile`'s program and optimizer. Size is bounded whatever the program's:
/// tables have their tails grouped, the timeline has at most MemoryChart::kMostBuckets steps.
[[nodiscard]] std::string profile_page(const program::Profile& profile,
                                       const memory::TrainingStep& step);

}  // namespace elixir::report
