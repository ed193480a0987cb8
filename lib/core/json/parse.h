// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Parses JSON text that may be hostile. nlohmann's DOM parser keeps the last of duplicate keys and
// allows unlimited nesting, so the values are built here from its SAX events.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace elixir {

/// Called for each complete element of an array of the root, with the array's key. May replace the
/// element.
using ElementDone = std::function<void(const std::string& key, Json& element)>;

/// Parses `text` into `root`. An element's visitor may read `root` while the rest is unread. Throws
/// kJsonSyntax, in file `name`; also for duplicate keys in an object, for deep nesting, and where
/// `root` would hold more than `most_values` values at once. `element_done` may be empty.
void parse_json(std::string_view text,
                const std::string& name,
                Json& root,
                std::size_t most_values,
                const ElementDone& element_done);

/// The root's `schema`; nullopt when it does not appear before the text ends or breaks.
[[nodiscard]] std::optional<std::string> find_schema(std::string_view text);

}  // namespace elixir
