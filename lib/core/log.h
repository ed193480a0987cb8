// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Messages for people, written to stderr as `level: text`. There are three levels. Libraries must
// log through here and must not print.

#include <functional>
#include <string_view>

namespace elixir::log {

enum class Level { kError, kInfo, kVerbose };

void set_level(Level level);
[[nodiscard]] Level level();
void set_color(bool enabled);
/// Sets a function that runs before each message. The progress line uses it to clear itself. An
/// empty function removes it.
void set_before_message(std::function<void()> action);
void warning(std::string_view text);  ///< shown from kInfo on
void info(std::string_view text);
void verbose(std::string_view text);

}  // namespace elixir::log
