// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/persistent_buffers.h"

#include <string>
#include <unordered_map>

#include "core/error.h"
#include "core/json.h"

namespace elixir::capture {

void mark_persistent(LoadedModule& loaded, const Archive& archive) {
  const std::string record = std::string("extra/") + kBuffersFile;
  if (!archive.has_record(record)) return;
  const auto document =
      JsonDocument::parse(archive.record(record), archive.path() + ":" + kBuffersFile);
  const JsonCursor root = document->root("elixir.buffers", 1);
  root.only_keys({"schema", "schema_version", "meta", "persistent"});
  std::unordered_map<std::string, LoadedTensor*> by_name;
  for (LoadedTensor& buffer : loaded.buffers) {
    buffer.persistent = false;
    for (const std::string& name : buffer.names) by_name.emplace(name, &buffer);
  }
  for (const JsonCursor& item : root.at("persistent").items()) {
    const auto found = by_name.find(item.string());
    if (found == by_name.end()) {
      throw item.error(ErrorCode::kUnsupportedModel, "the model has no buffer `{}`", item.string());
    }
    found->second->persistent = true;
  }
}

}  // namespace elixir::capture
