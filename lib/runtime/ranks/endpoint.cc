// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <charconv>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "runtime/ranks/launcher_store.h"
#include "runtime/ranks/wire.h"

namespace elixir::runtime {

std::string text_of(const Endpoint& endpoint) {
  return fmt::format("{} {}", endpoint.host, endpoint.port);
}

std::optional<Endpoint> endpoint_of(const std::string& text) {
  constexpr std::size_t kMostBytes = 300;
  constexpr int kLastPort = 65535;
  const std::size_t space = text.find(' ');
  if (text.size() > kMostBytes || space == std::string::npos || space == 0) return std::nullopt;
  Endpoint endpoint{printable(text.substr(0, space)), 0};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + space + 1, last, endpoint.port);
  if (error != std::errc() || end != last || endpoint.port < 1 || endpoint.port > kLastPort) {
    return std::nullopt;
  }
  return endpoint;
}

}  // namespace elixir::runtime
