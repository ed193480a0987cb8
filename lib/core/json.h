// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reading of JSON documents that may be hostile: every access is checked and every failure is an
// Error with file, JSON pointer, line and what would be right. Duplicate keys, NaN, fractions or
// negative numbers where a count is wanted, and unknown keys are errors. The root of a document is
// a record with `schema`, `schema_version` and `meta`. Writers use nlohmann::ordered_json and
// `files.h`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/name_table.h"

namespace elixir {

using Json = nlohmann::ordered_json;

/// The value, or null.
template <class T>
[[nodiscard]] Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
/// The text, or null when it is empty.
[[nodiscard]] Json text_or_null(const std::string& text);

/// A checked view of one value inside a parsed document. Two pointers: cheap to copy; valid while
/// its document lives. The JSON pointer is searched for only when something is wrong.
class JsonCursor {
 public:
  /// Member `key` of this object; an Error names a missing key (with the nearest present one).
  [[nodiscard]] JsonCursor at(std::string_view key) const;
  /// Member `key`, nullopt when its value is null; the key itself must be present.
  [[nodiscard]] std::optional<JsonCursor> nullable(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] std::vector<JsonCursor> items() const;                            ///< array
  [[nodiscard]] std::vector<std::pair<std::string, JsonCursor>> members() const;  ///< object
  [[nodiscard]] std::string string() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::int64_t non_negative() const;  ///< integer >= 0
  [[nodiscard]] double number() const;              ///< finite
  /// One of `choices`; the Error lists them.
  [[nodiscard]] std::string choice(const std::vector<std::string>& choices) const;
  /// The value that one of the table's names stands for; the Error lists them.
  template <class Enum, std::size_t kCount>
  [[nodiscard]] Enum choice(const NameTable<Enum, kCount>& names) const {
    return *names.named(choice(names.names()));
  }
  /// Fails when the object has keys beyond these; the Error suggests the nearest.
  void only_keys(const std::vector<std::string>& keys) const;
  /// An Error at this value: file, pointer and line.
  [[nodiscard]] Error error(ErrorCode code, std::string message) const;
  template <typename... Values>
  requires(sizeof...(Values) > 0) [[nodiscard]] Error
      error(ErrorCode code, fmt::format_string<Values...> message, Values&&... values) const {
    return error(code, fmt::vformat(message, fmt::make_format_args(values...)));
  }
  [[nodiscard]] const Json& raw() const { return *value_; }
  /// RFC 6901 pointer, "" for the root. Searches the document: for messages only.
  [[nodiscard]] std::string pointer() const;

 private:
  friend class JsonDocument;
  JsonCursor(const class JsonDocument* document, const Json* value)
      : document_(document), value_(value) {}
  [[noreturn]] void fail_type(std::string_view expected) const;
  const class JsonDocument* document_;
  const Json* value_;
};

/// A parsed document with its text, so that errors can name lines.
class JsonDocument {
 public:
  /// Reads and parses; kFileNotFound, kFileUnreadable, kJsonSyntax (with line and column).
  static std::shared_ptr<const JsonDocument> load(const std::string& path);
  /// Likewise, but every element of a root array named in `streamed` is handed to its visitor as
  /// soon as it is read and is null afterwards: large documents need no tree. An Error of a visitor
  /// has the element's place. A document that says it is not of `schema` is refused before its
  /// first element is visited.
  using ElementVisitor = std::function<void(const JsonCursor&)>;
  static std::shared_ptr<const JsonDocument> load(
      const std::string& path,
      std::string_view schema,
      int major,
      const std::map<std::string, ElementVisitor>& streamed);
  static std::shared_ptr<const JsonDocument> parse(std::string text, std::string name);
  [[nodiscard]] JsonCursor root() const;
  /// Root after checking `schema` == expected and the major part of `schema_version` == major.
  [[nodiscard]] JsonCursor root(std::string_view schema, int major) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Line of the value (1-based) at a JSON pointer; nullopt when there is none.
  [[nodiscard]] std::optional<int> line_of(const std::string& pointer) const;

 private:
  std::string text_, name_;
  Json value_;
};

/// The text at the root's key `schema` of a file, so that a tool can take documents of several
/// kinds; nullopt where there is none before the JSON ends or breaks. Reads no further than it
/// must; checks nothing else: load the document for that. kFileNotFound, kFileUnreadable.
[[nodiscard]] std::optional<std::string> schema_of(const std::string& path);

/// Version of every document schema written by this build.
inline constexpr const char* kSchemaVersion = "1.0";

/// The `meta` record: tool, version, argv, RFC 3339 time, machine. The only part of a document that
/// may differ between two runs on the same inputs.
[[nodiscard]] Json make_meta(const std::string& tool, const std::vector<std::string>& argv);

/// Pretty text with two-space indent, final newline, invalid UTF-8 replaced. Non-finite numbers are
/// a bug.
[[nodiscard]] std::string dump(const Json& value);

}  // namespace elixir
