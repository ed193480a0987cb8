// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: how the document of program/document.h is written, read and checked.
// Here: what writer and reader call it.

namespace elixir::program {

inline constexpr const char* kProfileSchema = "elixir.profile";
/// 1.1 has `memory.certainty`, 1.2 has `workspaces`, 1.3 `optimizer_form`, 1.4 `clips_gradients`,
/// 1.5 `workspaces_at_peak`, and in `certainty` measured operators, modules, errors and reasons.
/// 1.6 `persistent` of buffers. Older documents can be read.
inline constexpr const char* kProfileVersion = "1.6";
inline constexpr const char* kVersionWithoutCertainty = "1.0";

}  // namespace elixir::program
