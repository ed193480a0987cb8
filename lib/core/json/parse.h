// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Hostile JSON text to values. nlohmann's DOM parser keeps the last of duplicate keys and nests
// without bound, so the values are built here from its SAX events.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace elixir {

/// Called with the root key and each complete element of its array; may replace the element.
using ElementDone = std::function<void(const std::string& key, Json& element)>;

/// Parses into `root`, of which an element may be looked at while the rest is still unread.
/// kJsonSyntax, in file `name`: also for a key that appears twice in an object, and for deep
/// nesting. `element_done` may be empty.
void parse_json(std::string_view text,
                const std::string& name,
                Json& root,
                const ElementDone& element_done);

/// The root's `schema`; nullopt where there is none before the text ends or breaks.
[[nodiscard]] std::optional<std::string> find_schema(std::string_view text);

}  // namespace elixir
