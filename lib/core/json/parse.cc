// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/json/parse.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json/place.h"

namespace elixir {
namespace {

constexpr std::size_t kMaxDepth = 200;

/// nlohmann's message without its prefix, with the text that was read cut to one line.
std::string syntax_message(std::string text) {
  const std::size_t start = text.find(": ");
  if (start != std::string::npos) text.erase(0, start + 2);
  const std::string_view lead = "syntax error ";
  if (text.compare(0, lead.size(), lead) == 0) text.erase(0, lead.size());
  constexpr std::size_t kMaxBytes = 160;
  if (text.size() > kMaxBytes) {
    std::size_t cut = kMaxBytes;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
    text = text.substr(0, cut) + "...";
  }
  return "invalid JSON: " + text;
}

/// Builds the document; refuses duplicate keys, deep nesting and too many values.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text,
          const std::string& name,
          Json& root,
          std::size_t most_values,
          const ElementDone& element_done)
      : text_(text),
        name_(name),
        root_(root),
        most_values_(most_values),
        element_done_(element_done) {}

  bool null() override { return add(Json(nullptr)) != nullptr; }
  bool boolean(bool value) override { return add(Json(value)) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(Json(value)) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(Json(value)) != nullptr;
  }
  bool string(string_t& value) override { return add(Json(std::move(value))) != nullptr; }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    if (is_duplicate(level, key)) {
      std::vector<std::string> tokens = path();
      tokens.push_back(key);
      constexpr int kSecond = 2;
      throw Error(ErrorCode::kJsonSyntax,
                  place_of(tokens, kSecond),
                  "key `{}` appears twice in one object",
                  key)
          .help("keep one of them");
    }
    level.key = std::move(key);
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& /*last_token*/,
                   const nlohmann::detail::exception& error) override {
    const std::size_t offset = std::min(position > 0 ? position - 1 : 0, text_.size());
    const std::size_t line_start = text_.substr(0, offset).rfind('\n');
    const std::size_t column = offset - (line_start == std::string_view::npos ? 0 : line_start + 1);
    ErrorInfo info;
    info.code = ErrorCode::kJsonSyntax;
    info.message = syntax_message(error.what());
    info.where = SourcePos{name_, "", line_at(text_, offset), static_cast<long long>(offset)};
    info.notes.push_back(fmt::format("at column {}", column + 1));
    if (text_.empty()) info.notes = {"the file is empty"};
    throw Error(std::move(info));
  }

 private:
  struct Level {
    Json* value;
    std::string key;
    std::unordered_set<std::string>
        keys;  // used from kManyKeys on, so that hostile objects cost no n^2
    std::size_t values_before = 0;
  };
  static constexpr std::size_t kManyKeys = 32;

  static bool is_duplicate(Level& level, const std::string& key) {
    const auto& members = level.value->get_ref<const Json::object_t&>();
    if (members.size() < kManyKeys) {
      return std::any_of(
          members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
    }
    if (level.keys.empty()) {
      for (const auto& member : members) level.keys.insert(member.first);
    }
    return !level.keys.insert(key).second;
  }

  [[nodiscard]] SourcePos place_of(const std::vector<std::string>& tokens, int occurrence) const {
    SourcePos where{name_, "", std::nullopt, std::nullopt};
    for (const std::string& token : tokens) where.pointer += "/" + escape_token(token);
    if (const auto offset = offset_of(text_, tokens, occurrence)) {
      where.line = line_at(text_, *offset);
    }
    return where;
  }

  Json* add(Json&& value) {
    if (values_ == most_values_) {
      throw Error(ErrorCode::kJsonSyntax,
                  place_of(path(), 1),
                  "more than {} values; documents of this kind have fewer",
                  most_values_);
    }
    ++values_;
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      auto& array = level.value->get_ref<Json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    // Calls the base class, because ordered_map::emplace would search for the key again.
    auto& object = level.value->get_ref<Json::object_t&>();
    object.Json::object_t::Container::emplace_back(level.key, std::move(value));
    return &object.back().second;
  }

  bool open(Json&& value) {
    if (levels_.size() == kMaxDepth) {
      throw Error(ErrorCode::kJsonSyntax,
                  SourcePos{name_, "", std::nullopt, std::nullopt},
                  "nested more than {} levels deep",
                  kMaxDepth);
    }
    const std::size_t before = values_;
    levels_.push_back(Level{add(std::move(value)), {}, {}, before});
    return true;
  }

  bool close() {
    constexpr std::size_t kElementDepth = 3;  // root object, its array, the element
    if (element_done_ && levels_.size() == kElementDepth && levels_[1].value->is_array()) {
      element_done_(levels_.front().key, *levels_.back().value);
      // What became of it stays in memory: a null, or all of it.
      if (levels_.back().value->is_null()) values_ = levels_.back().values_before + 1;
    }
    levels_.pop_back();
    return true;
  }

  [[nodiscard]] std::vector<std::string> path() const {
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i) {
      const Level& level = levels_[i];
      tokens.push_back(level.value->is_array() ? std::to_string(level.value->size() - 1)
                                               : level.key);
    }
    return tokens;
  }

  std::string_view text_;
  const std::string& name_;
  Json& root_;
  std::size_t most_values_, values_ = 0;
  const ElementDone& element_done_;
  // The pointers stay valid: a container grows only while it is the innermost level, and then no
  // pointer into it is held.
  std::vector<Level> levels_;
};

/// Stops parsing at the root's `schema`.
class SchemaFinder : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] const std::optional<std::string>& found() const { return found_; }

  bool null() override { return other(); }
  bool boolean(bool /*value*/) override { return other(); }
  bool number_integer(number_integer_t /*value*/) override { return other(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return other(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return other(); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool string(string_t& value) override {
    if (!wanted_) return other();
    found_ = std::move(value);
    return false;
  }
  bool start_object(std::size_t /*elements*/) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return depth_ > 0 && open(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    wanted_ = depth_ == 1 && key == "schema";
    return true;
  }
  bool parse_error(std::size_t /*position*/,
                   const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  /// Handles any other value. If `schema` is not text, there is nothing to find.
  [[nodiscard]] bool other() const { return !wanted_ && depth_ > 0; }
  bool open() {
    if (wanted_) return false;
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool wanted_ = false;
  std::optional<std::string> found_;
};

}  // namespace

void parse_json(std::string_view text,
                const std::string& name,
                Json& root,
                std::size_t most_values,
                const ElementDone& element_done) {
  Builder builder(text, name, root, most_values, element_done);
  Json::sax_parse(text, &builder);
}

std::optional<std::string> find_schema(std::string_view text) {
  SchemaFinder finder;
  Json::sax_parse(text, &finder);
  return finder.found();
}

}  // namespace elixir
