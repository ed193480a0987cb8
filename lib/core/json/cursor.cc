// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/json.h"
#include "core/json/place.h"

namespace elixir {
namespace {

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return text.size() > 60 ? std::string("a string") : fmt::format("the string \"{}\"", text);
    }
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
      return fmt::format("{}", value.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return fmt::format("{}", value.get<std::uint64_t>());
    case Json::value_t::number_float:
      return fmt::format("{}", value.get<double>());
    default:
      return "something else";
  }
}

bool find_path(const Json& from, const Json* wanted, std::string& pointer) {
  if (&from == wanted) return true;
  const std::size_t length = pointer.size();
  if (from.is_object()) {
    for (const auto& member : from.get_ref<const Json::object_t&>()) {
      if (!member.second.is_structured() && &member.second != wanted) continue;
      pointer += "/" + escape_token(member.first);
      if (find_path(member.second, wanted, pointer)) return true;
      pointer.resize(length);
    }
  } else if (from.is_array()) {
    std::size_t index = 0;
    for (const Json& item : from.get_ref<const Json::array_t&>()) {
      const std::size_t position = index++;
      if (!item.is_structured() && &item != wanted) continue;
      pointer += "/" + std::to_string(position);
      if (find_path(item, wanted, pointer)) return true;
      pointer.resize(length);
    }
  }
  return false;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& member : object.get_ref<const Json::object_t&>()) keys.push_back(member.first);
  return keys;
}

const Json* find_member(const Json& object, std::string_view key) {
  for (const auto& member : object.get_ref<const Json::object_t&>()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

}  // namespace

std::string JsonCursor::pointer() const {
  std::string pointer;
  find_path(document_->root().raw(), value_, pointer);
  return pointer;
}

Error JsonCursor::error(ErrorCode code, std::string message) const {
  SourcePos where{document_->name(), pointer(), std::nullopt, std::nullopt};
  where.line = document_->line_of(where.pointer);
  return Error(code, std::move(where), std::move(message));
}

void JsonCursor::fail_type(std::string_view expected) const {
  throw error(ErrorCode::kJsonType, "expected {}, found {}", expected, describe(*value_));
}

JsonCursor JsonCursor::at(std::string_view key) const {
  if (!value_->is_object()) fail_type("an object");
  const Json* found = find_member(*value_, key);
  if (found == nullptr) {
    std::vector<std::string> help;
    const std::vector<std::string> near = nearest(key, keys_of(*value_));
    if (!near.empty())
      help.push_back(fmt::format("present here and similar: {}", join_quoted(near)));
    throw error(ErrorCode::kJsonMissingKey, "key `{}` is missing", key).help(std::move(help));
  }
  return {document_, found};
}

std::optional<JsonCursor> JsonCursor::nullable(std::string_view key) const {
  const JsonCursor member = at(key);
  if (member.is_null()) return std::nullopt;
  return member;
}

bool JsonCursor::has(std::string_view key) const {
  if (!value_->is_object()) fail_type("an object");
  return find_member(*value_, key) != nullptr;
}

bool JsonCursor::is_null() const {
  return value_->is_null();
}

std::vector<JsonCursor> JsonCursor::items() const {
  if (!value_->is_array()) fail_type("an array");
  std::vector<JsonCursor> result;
  result.reserve(value_->size());
  for (const Json& item : value_->get_ref<const Json::array_t&>()) {
    result.push_back(JsonCursor(document_, &item));
  }
  return result;
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
  if (!value_->is_object()) fail_type("an object");
  std::vector<std::pair<std::string, JsonCursor>> result;
  result.reserve(value_->size());
  for (const auto& member : value_->get_ref<const Json::object_t&>()) {
    result.emplace_back(member.first, JsonCursor(document_, &member.second));
  }
  return result;
}

std::string JsonCursor::string() const {
  if (!value_->is_string()) fail_type("a string");
  return value_->get_ref<const std::string&>();
}

bool JsonCursor::boolean() const {
  if (!value_->is_boolean()) fail_type("true or false");
  return value_->get<bool>();
}

std::int64_t JsonCursor::integer() const {
  if (value_->is_number_unsigned()) {
    const auto value = value_->get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw error(ErrorCode::kJsonBadValue, "{} does not fit 64 bits", value);
    }
    return static_cast<std::int64_t>(value);
  }
  if (value_->is_number_integer()) return value_->get<std::int64_t>();
  if (value_->is_number_float() && std::fabs(value_->get<double>()) >= 9.2233720368547758e18) {
    throw error(ErrorCode::kJsonBadValue, "{} is not a 64-bit integer", value_->get<double>());
  }
  fail_type("an integer");
}

std::int64_t JsonCursor::non_negative() const {
  const std::int64_t value = integer();
  if (value < 0) {
    throw error(ErrorCode::kJsonBadValue, "must not be negative, found {}", value);
  }
  return value;
}

double JsonCursor::number() const {
  if (!value_->is_number()) fail_type("a number");
  const double value = value_->get<double>();
  if (!std::isfinite(value)) throw error(ErrorCode::kJsonBadValue, "must be a finite number");
  return value;
}

std::string JsonCursor::choice(const std::vector<std::string>& choices) const {
  std::string value = string();
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    std::vector<std::string> help;
    const std::vector<std::string> near = nearest(value, choices);
    if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
    help.push_back("one of " + join_quoted(choices));
    throw error(ErrorCode::kJsonBadValue, "`{}` is not known here", value).help(std::move(help));
  }
  return value;
}

void JsonCursor::only_keys(const std::vector<std::string>& keys) const {
  if (!value_->is_object()) fail_type("an object");
  for (const auto& member : value_->get_ref<const Json::object_t&>()) {
    if (std::find(keys.begin(), keys.end(), member.first) != keys.end()) continue;
    std::vector<std::string> help;
    const std::vector<std::string> near = nearest(member.first, keys);
    if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
    help.push_back("allowed here: " + join_quoted(keys));
    throw JsonCursor(document_, &member.second)
        .error(ErrorCode::kJsonUnknownKey, "unknown key `{}`", member.first)
        .help(std::move(help));
  }
}

}  // namespace elixir
