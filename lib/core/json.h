// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads JSON documents that may be hostile. Every access is checked. Every failure is an Error with
// the file, the JSON pointer, the line and what is right. Errors include duplicate keys, unknown
// keys, NaN, and fractions or negative numbers where a count is needed. The root of a document is
// an object with `schema`, `schema_version` and `meta`. To write documents, use Json and `files.h`.

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

/// The value; null when it has none.
template <class T>
[[nodiscard]] Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
/// The number; null when there is none, or it is not finite: JSON has no word for that.
[[nodiscard]] Json finite_or_null(const std::optional<double>& value);
/// The text; null when it is empty.
[[nodiscard]] Json text_or_null(const std::string& text);

/// A checked view of one value in a parsed document. Holds two pointers, so it is cheap to copy.
/// The document must outlive it.
class JsonCursor {
 public:
  /// Member `key` of this object. For a missing key, the Error suggests the nearest present one.
  [[nodiscard]] JsonCursor at(std::string_view key) const;
  /// Member `key`; nullopt when its value is null. The key itself must be present.
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
  /// The text of this value, which must be one of `choices`. The Error lists them.
  [[nodiscard]] std::string choice(const std::vector<std::string>& choices) const;
  /// The value that one of the table's names stands for; the Error lists them.
  template <class Enum, std::size_t kCount>
  [[nodiscard]] Enum choice(const NameTable<Enum, kCount>& names) const {
    return *names.named(choice(names.names()));
  }
  /// Throws when the object has a key that is not in `keys`. The Error suggests the nearest one.
  void only_keys(const std::vector<std::string>& keys) const;
  /// Makes an Error with the file, pointer and line of this value.
  [[nodiscard]] Error error(ErrorCode code, std::string message) const;
  template <typename... Values>
  requires(sizeof...(Values) > 0) [[nodiscard]] Error
      error(ErrorCode code, fmt::format_string<Values...> message, Values&&... values) const {
    return error(code, fmt::vformat(message, fmt::make_format_args(values...)));
  }
  [[nodiscard]] const Json& raw() const { return *value_; }
  /// RFC 6901 pointer; "" for the root. Slow, because it searches the document: use it only for
  /// messages.
  [[nodiscard]] std::string pointer() const;

 private:
  friend class JsonDocument;
  JsonCursor(const class JsonDocument* document, const Json* value)
      : document_(document), value_(value) {}
  [[noreturn]] void fail_type(std::string_view expected) const;
  const class JsonDocument* document_;
  const Json* value_;
};

/// The largest document that is read. A value takes up to a hundred bytes of memory and two bytes
/// of text, so the size of a file bounds memory badly; the number of values bounds it well. The
/// default is for documents that people or one run write. Whoever reads a larger kind says how
/// large that kind is for the largest models.
struct JsonLimits {
  std::size_t values = 1'000'000;  ///< in memory at once: numbers, texts, arrays, objects, ...
  std::uint64_t bytes = std::uint64_t{64} << 20;
};

/// A parsed document. It keeps its text, so that errors can name lines.
class JsonDocument {
 public:
  /// Reads and parses a file. Throws kFileNotFound, kFileUnreadable (also for more bytes than the
  /// limit), kJsonSyntax (with line and column; also for more values than the limit).
  static std::shared_ptr<const JsonDocument> load(const std::string& path,
                                                  const JsonLimits& limits = {});
  /// Same, for large documents: avoids a tree of the whole document. `streamed` names arrays of the
  /// root object. Each element of such an array goes to its visitor as soon as it is read, and is
  /// null afterwards. When a visitor throws an Error, the element's place is added. A document that
  /// names another schema than `schema` is refused before its first element is visited.
  using ElementVisitor = std::function<void(const JsonCursor&)>;
  static std::shared_ptr<const JsonDocument> load(
      const std::string& path,
      std::string_view schema,
      int major,
      const std::map<std::string, ElementVisitor>& streamed,
      const JsonLimits& limits = {});
  /// The same for text that is in memory; `limits.bytes` does not count. `name` stands for its file
  /// in messages.
  static std::shared_ptr<const JsonDocument> parse(std::string text,
                                                   std::string name,
                                                   const JsonLimits& limits = {});
  static std::shared_ptr<const JsonDocument> parse(
      std::string text,
      std::string name,
      std::string_view schema,
      int major,
      const std::map<std::string, ElementVisitor>& streamed,
      const JsonLimits& limits = {});
  [[nodiscard]] JsonCursor root() const;
  /// The root. Checks that `schema` is as expected and that `schema_version` has this major part.
  [[nodiscard]] JsonCursor root(std::string_view schema, int major) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The line (from 1) of the value at a JSON pointer; nullopt when there is no such value.
  [[nodiscard]] std::optional<int> line_of(const std::string& pointer) const;

 private:
  std::string text_, name_;
  Json value_;
};

/// The value of the root's key `schema`, so that a tool can accept documents of several kinds.
/// nullopt when the key does not appear before the JSON ends or breaks. Reads only as far as needed
/// and checks nothing else: load the document for that. Throws kFileNotFound, kFileUnreadable.
[[nodiscard]] std::optional<std::string> schema_of(const std::string& path);

/// The version of every document schema that this build writes.
inline constexpr const char* kSchemaVersion = "1.0";

/// The `meta` object: tool, version, argv, RFC 3339 time, machine. It is the only part of a
/// document that may differ between two runs on the same inputs.
[[nodiscard]] Json make_meta(const std::string& tool, const std::vector<std::string>& argv);

/// JSON text with two-space indent and a final newline. Invalid UTF-8 is replaced. Non-finite
/// numbers are a bug of the caller.
[[nodiscard]] std::string dump(const Json& value);

}  // namespace elixir
