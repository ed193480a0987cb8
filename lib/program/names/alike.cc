// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/names/alike.h"

#include <vector>

#include "core/error.h"

namespace elixir::program {
namespace {

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string shape_of(std::string_view name) {
  std::string shape;
  for (const std::string_view part : parts_of(name)) {
    const bool is_number =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    shape += is_number ? std::string_view("*") : part;
    shape += '.';
  }
  return shape;
}

std::string common_name(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> ours = parts_of(a);
  const std::vector<std::string_view> theirs = parts_of(b);
  require(ours.size() == theirs.size(), "names of another shape");
  std::string name;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (i > 0) name += '.';
    name += ours[i] == theirs[i] ? ours[i] : std::string_view("*");
  }
  return name;
}

}  // namespace elixir::program
