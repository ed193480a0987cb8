// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/json/place.h"

#include <algorithm>
#include <utility>

#include "core/json.h"

namespace elixir {
namespace {

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

/// Walks JSON text to the value at a pointer.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;
  }

  std::optional<std::size_t> find(const std::vector<std::string>& tokens, int occurrence) {
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
  /// Whether a quoted key equals `token`. Most keys have no escapes, and then no parser is needed.
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

}  // namespace

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

std::optional<std::size_t> offset_of(std::string_view text,
                                     const std::vector<std::string>& tokens,
                                     int occurrence) {
  return Scanner(text).find(tokens, occurrence);
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(
                 text.begin(),
                 text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())),
                 '\n'));
}

}  // namespace elixir
