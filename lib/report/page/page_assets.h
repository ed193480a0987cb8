// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The style and script of the HTML page (profile_page.css, profile_page.js), compiled in.

#include <string_view>

namespace elixir::report {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace elixir::report
