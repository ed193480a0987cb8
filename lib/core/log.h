// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Messages for people: to stderr, as `level: text`. Three levels. Libraries log through here and
// never print.

#include <functional>
#include <string_view>

namespace elixir::log {

enum class Level { kError, kInfo, kVerbose };

void set_level(Level level);
[[nodiscard]] Level level();
void set_color(bool enabled);
/// Runs before each message is printed: the progress line uses it to clear itself. Empty removes
/// it.
void set_before_message(std::function<void()> action);
void warning(std::string_view text);  ///< shown from kInfo on
void info(std::string_view text);
void verbose(std::string_view text);

}  // namespace elixir::log
