// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: how the document of program/document.h is written, read and checked.
// Here: what writer and reader call it.

namespace elixir::program {

inline constexpr const char* kProfileSchema = "elixir.profile";

}  // namespace elixir::program
