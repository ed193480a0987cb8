// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/constants.h"

#include <string>
#include <tuple>

#include "core/error.h"

namespace elixir::runtime {
namespace {

std::tuple<std::string, std::int64_t, bool> content_of(const program::Storage& storage) {
  return {storage.content_digest, storage.bytes, storage.on_host};
}

}  // namespace

Constants constants_of(const program::Program& edited,
                       const program::Program& captured,
                       const Constants& tensors) {
  std::map<std::tuple<std::string, std::int64_t, bool>, at::Tensor> by_content;
  for (const auto& [id, tensor] : tensors) {
    by_content.emplace(content_of(captured.storages.at(static_cast<std::size_t>(id))), tensor);
  }
  Constants found;
  for (const program::Storage& storage : edited.storages) {
    if (storage.content_digest.empty()) continue;
    const auto tensor = by_content.find(content_of(storage));
    require(tensor != by_content.end(), "a constant of the edited program was not captured");
    found.emplace(storage.id, tensor->second);
  }
  return found;
}

}  // namespace elixir::runtime
