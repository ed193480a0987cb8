// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// nlohmann's DOM parser keeps the last of duplicate keys and nests without bound, so the document
// is built here from its SAX events. Positions of values are found by a scanner over the text when
// an error needs one.
#include "core/json.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "core/files.h"
#include "elixir_config.h"

namespace elixir {
namespace {

constexpr std::size_t kMaxDepth = 200;

std::string escape_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

std::string unescape_token(std::string_view token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      key += token[++i] == '1' ? '/' : '~';
    } else {
      key += token[i];
    }
  }
  return key;
}

std::vector<std::string> split_pointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    tokens.push_back(unescape_token(pointer.substr(0, end)));
    pointer.remove_prefix(end);
  }
  return tokens;
}

/// Walks JSON text to the value at a pointer. Tolerates broken text: every step is bounded by the
/// end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;
  }

  /// Offset of the value, or of its key when `occurrence` (of the last token, an object key) is
  /// above 1.
  std::optional<std::size_t> find(const std::vector<std::string>& tokens, int occurrence = 1) {
    for (std::size_t depth = 0; depth < tokens.size(); ++depth) {
      const int wanted = depth + 1 == tokens.size() ? occurrence : 1;
      if (!enter(tokens[depth], wanted)) return std::nullopt;
    }
    if (key_at_) return key_at_;
    skip_space();
    if (at_ >= text_.size()) return std::nullopt;
    return at_;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  /// Moves past the string that starts here.
  void skip_string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
  }
  void skip_value() {
    skip_space();
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (depth == 0) {
        while (at_ < text_.size() &&
               std::string_view(",]} \n\r\t").find(text_[at_]) == std::string_view::npos) {
          ++at_;
        }
        return;
      } else {
        ++at_;
      }
    } while (depth > 0 && at_ < text_.size());
  }
  /// Whether a quoted key means `token`. Most keys have no escapes and need no parser.
  static bool names(std::string_view quoted, const std::string& token) {
    if (quoted.find('\\') == std::string_view::npos) {
      return quoted.size() == token.size() + 2 && quoted.substr(1, token.size()) == token;
    }
    const Json key = Json::parse(quoted, nullptr, false);
    return key.is_string() && key.get_ref<const std::string&>() == token;
  }
  bool enter(const std::string& token, int occurrence) {
    skip_space();
    const char open = peek();
    if (open != '{' && open != '[') return false;
    ++at_;
    std::size_t index = 0;
    int seen = 1;
    while (at_ < text_.size()) {
      skip_space();
      if (peek() == '}' || peek() == ']') return false;
      if (open == '{') {
        if (peek() != '"') return false;
        const std::size_t begin = at_;
        skip_string();
        const std::string_view raw = text_.substr(begin, std::min(at_, text_.size()) - begin);
        skip_space();
        if (peek() == ':') ++at_;
        if (names(raw, token)) {
          if (seen == occurrence) {
            if (occurrence > 1) key_at_ = begin;
            return true;
          }
          ++seen;
        }
      } else if (std::to_string(index++) == token) {
        return true;
      }
      skip_value();
      skip_space();
      if (peek() == ',') ++at_;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::size_t> key_at_;
};

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(
                 text.begin(),
                 text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())),
                 '\n'));
}

[[noreturn]] void fail_at(ErrorCode code,
                          std::string message,
                          SourcePos where,
                          std::vector<std::string> help = {}) {
  ErrorInfo info;
  info.code = code;
  info.message = std::move(message);
  info.where = std::move(where);
  info.help = std::move(help);
  throw Error(std::move(info));
}

/// nlohmann's text without its prefix and with what was read cut to a line.
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

/// Builds the document; refuses duplicate keys and deep nesting.
class Builder : public nlohmann::json_sax<Json> {
 public:
  /// Called with the root key and each complete element of its array; may replace the element.
  using ElementDone = std::function<void(const std::string& key, Json& element)>;

  Builder(std::string_view text, const std::string& name, Json& root, ElementDone element_done)
      : text_(text), name_(name), root_(root), element_done_(std::move(element_done)) {}

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
      std::string pointer;
      for (const std::string& token : tokens) pointer += "/" + escape_token(token);
      SourcePos where{name_, pointer, std::nullopt, std::nullopt};
      if (const auto offset = Scanner(text_).find(tokens, 2)) where.line = line_at(text_, *offset);
      fail_at(ErrorCode::kJsonSyntax,
              fmt::format("key `{}` appears twice in one object", key),
              std::move(where),
              {"keep one of them"});
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
        keys;  // used from kManyKeys on: a hostile object must not cost n^2
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

  Json* add(Json&& value) {
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
    // Why the base class: ordered_map::emplace searches for the key, which key() has done.
    auto& object = level.value->get_ref<Json::object_t&>();
    object.Json::object_t::Container::emplace_back(level.key, std::move(value));
    return &object.back().second;
  }

  bool open(Json&& value) {
    if (levels_.size() == kMaxDepth) {
      fail_at(ErrorCode::kJsonSyntax,
              fmt::format("nested more than {} levels deep", kMaxDepth),
              SourcePos{name_, "", std::nullopt, std::nullopt});
    }
    levels_.push_back(Level{add(std::move(value)), {}, {}});
    return true;
  }

  bool close() {
    constexpr std::size_t kElementDepth = 3;  // root object, its array, the element
    if (element_done_ && levels_.size() == kElementDepth && levels_[1].value->is_array()) {
      element_done_(levels_.front().key, *levels_.back().value);
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
  ElementDone element_done_;
  // Pointers stay valid: a container grows only while it is the innermost, and then no pointer into
  // it is held.
  std::vector<Level> levels_;
};

/// Ends parsing at the root's `schema`.
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
  /// Another value; where `schema` is none of text, there is nothing to find.
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

std::string join_quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += "`" + word + "`";
  }
  return text;
}

const Json* find_member(const Json& object, std::string_view key) {
  for (const auto& member : object.get_ref<const Json::object_t&>()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

}  // namespace

// --- cursor --------------------------------------------------------------------------------------

std::string JsonCursor::pointer() const {
  std::string pointer;
  find_path(document_->root().raw(), value_, pointer);
  return pointer;
}

void JsonCursor::fail(ErrorCode code, std::string message, std::vector<std::string> help) const {
  SourcePos where{document_->name(), pointer(), std::nullopt, std::nullopt};
  where.line = document_->line_of(where.pointer);
  fail_at(code, std::move(message), std::move(where), std::move(help));
}

void JsonCursor::fail_type(std::string_view expected) const {
  fail(ErrorCode::kJsonType, fmt::format("expected {}, found {}", expected, describe(*value_)));
}

JsonCursor JsonCursor::at(std::string_view key) const {
  if (!value_->is_object()) fail_type("an object");
  const Json* found = find_member(*value_, key);
  if (found == nullptr) {
    std::vector<std::string> help;
    const std::vector<std::string> near = nearest(key, keys_of(*value_));
    if (!near.empty())
      help.push_back(fmt::format("present here and similar: {}", join_quoted(near)));
    fail(ErrorCode::kJsonMissingKey, fmt::format("key `{}` is missing", key), std::move(help));
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
      fail(ErrorCode::kJsonBadValue, fmt::format("{} does not fit 64 bits", value));
    }
    return static_cast<std::int64_t>(value);
  }
  if (value_->is_number_integer()) return value_->get<std::int64_t>();
  if (value_->is_number_float() && std::fabs(value_->get<double>()) >= 9.2233720368547758e18) {
    fail(ErrorCode::kJsonBadValue,
         fmt::format("{} is not a 64-bit integer", value_->get<double>()));
  }
  fail_type("an integer");
}

std::int64_t JsonCursor::non_negative() const {
  const std::int64_t value = integer();
  if (value < 0) {
    fail(ErrorCode::kJsonBadValue, fmt::format("must not be negative, found {}", value));
  }
  return value;
}

double JsonCursor::number() const {
  if (!value_->is_number()) fail_type("a number");
  const double value = value_->get<double>();
  if (!std::isfinite(value)) fail(ErrorCode::kJsonBadValue, "must be a finite number");
  return value;
}

std::string JsonCursor::choice(const std::vector<std::string>& choices) const {
  std::string value = string();
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    std::vector<std::string> help;
    const std::vector<std::string> near = nearest(value, choices);
    if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
    help.push_back("one of " + join_quoted(choices));
    fail(ErrorCode::kJsonBadValue, fmt::format("`{}` is not known here", value), std::move(help));
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
    JsonCursor(document_, &member.second)
        .fail(ErrorCode::kJsonUnknownKey,
              fmt::format("unknown key `{}`", member.first),
              std::move(help));
  }
}

// --- document ------------------------------------------------------------------------------------

std::shared_ptr<const JsonDocument> JsonDocument::load(const std::string& path) {
  return parse(read_file(path), path);
}

std::shared_ptr<const JsonDocument> JsonDocument::load(
    const std::string& path,
    std::string_view schema,
    int major,
    const std::map<std::string, ElementVisitor>& streamed) {
  auto document = std::make_shared<JsonDocument>();
  document->text_ = read_file(path);
  document->name_ = path;
  const auto done = [&](const std::string& key, Json& element) {
    const auto visitor = streamed.find(key);
    if (visitor == streamed.end()) return;
    // Writers put the schema first; where it comes later, the caller's root() finds the mistake.
    if (document->root().has("schema")) static_cast<void>(document->root(schema, major));
    visitor->second(JsonCursor(document.get(), &element));
    element = nullptr;
  };
  Builder builder(document->text_, document->name_, document->value_, done);
  Json::sax_parse(document->text_, &builder);
  return document;
}

std::shared_ptr<const JsonDocument> JsonDocument::parse(std::string text, std::string name) {
  auto document = std::make_shared<JsonDocument>();
  document->text_ = std::move(text);
  document->name_ = std::move(name);
  Builder builder(document->text_, document->name_, document->value_, {});
  Json::sax_parse(document->text_, &builder);
  return document;
}

JsonCursor JsonDocument::root() const {
  return {this, &value_};
}

JsonCursor JsonDocument::root(std::string_view schema, int major) const {
  const JsonCursor root = this->root();
  if (!root.has("schema")) {
    root.fail(
        ErrorCode::kWrongSchema,
        fmt::format("not an Elixir document: key `schema` is missing, expected `{}`", schema));
  }
  const JsonCursor found = root.at("schema");
  if (found.string() != schema) {
    found.fail(
        ErrorCode::kWrongSchema,
        fmt::format("the document is of schema `{}`, expected `{}`", found.string(), schema));
  }
  const JsonCursor version = root.at("schema_version");
  const std::string text = version.string();
  const std::string wanted = std::to_string(major) + ".";
  const bool well_formed =
      text.size() > wanted.size() && text.find_first_not_of("0123456789.") == std::string::npos;
  if (!well_formed || text.compare(0, wanted.size(), wanted) != 0) {
    version.fail(
        ErrorCode::kWrongSchema,
        fmt::format("schema version `{}` is not supported; this build reads {}.x", text, major),
        {"write the document again with this version of Elixir"});
  }
  return root;
}

std::optional<int> JsonDocument::line_of(const std::string& pointer) const {
  const auto offset = Scanner(text_).find(split_pointer(pointer));
  if (!offset) return std::nullopt;
  return line_at(text_, *offset);
}

std::optional<std::string> schema_of(const std::string& path) {
  const std::string text = read_file(path);
  SchemaFinder finder;
  Json::sax_parse(text, &finder);
  return finder.found();
}

// --- writing -------------------------------------------------------------------------------------

Json make_meta(const std::string& tool, const std::vector<std::string>& argv) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);

  Json machine = Json::object();
  struct utsname system {};
  if (::uname(&system) == 0) {
    machine["host"] = system.nodename;
    machine["os"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  } else {
    machine["host"] = nullptr;
    machine["os"] = nullptr;
  }
  machine["cpu"] = nullptr;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos) {
      machine["cpu"] = line.substr(colon + 2);
      break;
    }
  }
  machine["logical_cpus"] = static_cast<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN));

  Json meta = Json::object();
  meta["tool"] = tool;
  meta["version"] = ELIXIR_VERSION;
  meta["argv"] = argv;
  meta["time"] = time.data();
  meta["machine"] = std::move(machine);
  return meta;
}

namespace {

void require_finite(const Json& value) {
  if (value.is_number_float()) {
    require(std::isfinite(value.get<double>()), "a document holds a number that is not finite");
  } else if (value.is_structured()) {
    for (const Json& item : value) require_finite(item);
  }
}

}  // namespace

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string dump(const Json& value) {
  require_finite(value);
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace elixir
