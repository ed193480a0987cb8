// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Escapes text for HTML. Names of modules, operators and files are hostile, so all text on a page
// must pass through these functions.

#include <string>
#include <string_view>

#include "core/json.h"

namespace elixir::report {

/// For element content and quoted attributes. `& < > " '` become entities, control characters other
/// than newline and tab become `\xNN`, invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string escape_html(std::string_view text);

/// At most about 200 bytes of a name, then an ellipsis, so that hostile names cannot make a page
/// large.
[[nodiscard]] std::string shortened(std::string_view name);

/// For the content of a `<script type="application/json">`. Compact, and without `<`, `>` and `&`,
/// so that no text can end the element.
[[nodiscard]] std::string script_json(const Json& value);

}  // namespace elixir::report
