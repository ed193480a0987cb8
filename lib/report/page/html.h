// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Text into HTML. Names of modules, operators and files are hostile: nothing reaches a page but
// through here.

#include <string>
#include <string_view>

#include "core/json.h"

namespace elixir::report {

/// For element content and quoted attributes: `& < > " '` as entities, control characters other
/// than newline and tab as `\xNN`, invalid UTF-8 as U+FFFD.
[[nodiscard]] std::string escape_html(std::string_view text);

/// At most about 200 bytes of a name, then an ellipsis: hostile names must not make a page large.
[[nodiscard]] std::string shortened(std::string_view name);

/// For the content of a `<script type="application/json">`: compact, without `<`, `>` and `&`, so
/// that no text can end the element.
[[nodiscard]] std::string script_json(const Json& value);

}  // namespace elixir::report
