// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// An upper bound of the depth of each statement's tree: brackets and operators that may nest, and
// subscripts without an index, at which LibTorch's compiler reads past the end of a list. The
// tokens are LibTorch's (torch/csrc/jit/frontend/lexer.h); where a text could be read in two ways,
// it is refused, since the printer writes none of those.
#include "capture/archive/code_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace elixir::capture {
namespace {

constexpr std::size_t kDeepestExpression = 1000;
constexpr std::size_t kDeepestBrackets = 200;
constexpr std::size_t kDeepestIndent = 500;
constexpr std::size_t kMostBranches = 500;    // `elif`, each nested in the one before
constexpr std::size_t kMostEmptyLines = 500;  // the lexer skips them recursively

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Words that join expressions.
bool is_operator(std::string_view word) {
  constexpr std::array<std::string_view, 9> kWords{
      "and", "or", "not", "if", "else", "in", "is", "lambda", "for"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// Words that end no value: a bracket after them opens a list, after others a subscript.
bool is_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords{
      "return", "while", "elif", "assert", "raise", "yield", "with", "del"};
  return is_operator(word) || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  std::optional<CodeProblem> run() {
    levels_.emplace_back();
    begin_line();
    while (!problem_ && at_ < text_.size()) token();
    if (!problem_) measure();
    return problem_;
  }

 private:
  /// One bracket level of the statement.
  struct Level {
    std::size_t operators = 0;  ///< since the last comma
    std::size_t inside = 0;     ///< deepest bracket since then
    std::size_t deepest = 0;    ///< of earlier elements
    bool empty_subscript = false;
    [[nodiscard]] std::size_t depth() const { return std::max(deepest, operators + inside); }
  };

  void fail(const char* message) {
    if (!problem_) problem_ = CodeProblem{message, line_};
  }

  void token() {
    const char c = text_[at_];
    if (c == '\n') {
      new_line();
    } else if (c == '\\') {
      at_ += 1;
      if (at_ < text_.size() && text_[at_] == '\n') {  // the statement continues
        ++line_;
        ++at_;
        count_empty_line();
      }
    } else if ((c == '"' || c == '\'') && !in_comment_) {
      string(c);
    } else if (is_word(c)) {
      word();
    } else {
      punctuation(c);
      ++at_;
    }
  }

  void string(char quote) {
    if (text_.substr(at_, 3) == std::string(3, quote)) {
      fail("a string has three quotes");
      return;
    }
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size() && text_[at_] == '\n') {
        fail("a string goes on in the next line");
        return;
      }
    }
    ++at_;
    empty_lines_ = 0;
    next_token(/*ends_value=*/true);
  }

  void word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (is_operator(word)) ++levels_.back().operators;
    if (word == "elif" && ++branches_ > kMostBranches) fail("it has too many branches");
    if (!in_comment_) empty_lines_ = 0;
    next_token(!is_keyword(word));
  }

  /// A token inside the innermost bracket; whether a bracket that follows is a subscript of it.
  void next_token(bool ends_value) {
    if (in_comment_) return;
    levels_.back().empty_subscript = false;
    ends_value_ = ends_value;
  }

  void punctuation(char c) {
    switch (c) {
      case '#':
        // A type comment is code. So brackets in a comment count, but they close none outside of
        // it.
        if (!in_comment_) comment_floor_ = levels_.size();
        in_comment_ = true;
        return;
      case ' ':
      case '\t':
      case '\r':
        return;
      case '(':
      case '[':
      case '{':
        open(/*subscript=*/c == '[' && ends_value_ && !in_comment_);
        break;
      case ')':
      case ']':
      case '}':
        close();
        break;
      case ',':
      case ';':
        next_element();
        next_token(/*ends_value=*/false);
        break;
      default:
        ++levels_.back().operators;
        next_token(/*ends_value=*/c == '.');  // of a number such as `1.`
    }
    if (!in_comment_) empty_lines_ = 0;
  }

  void open(bool subscript) {
    next_token(/*ends_value=*/false);
    levels_.emplace_back();
    levels_.back().empty_subscript = subscript;
    if (levels_.size() > kDeepestBrackets) fail("its brackets are nested too deeply");
  }

  void next_element() {
    Level& level = levels_.back();
    level.deepest = level.depth();
    level.operators = level.inside = 0;
    if (level.deepest > kDeepestExpression) fail("an expression is nested too deeply");
  }

  void close() {
    const std::size_t fewest = in_comment_ ? comment_floor_ : 1;
    if (levels_.size() <= fewest) {
      if (!in_comment_) fail("a bracket closes none");
      return;
    }
    if (levels_.back().empty_subscript) fail("a subscript has no index");
    const std::size_t depth = levels_.back().depth();
    levels_.pop_back();
    next_token(/*ends_value=*/true);
    Level& level = levels_.back();
    // A call of a call of a call: each bracket is one level of the tree.
    ++level.operators;
    level.inside = std::max(level.inside, depth);
    if (level.depth() > kDeepestExpression) fail("an expression is nested too deeply");
  }

  void measure() {
    std::size_t depth = 0;
    for (const Level& level : levels_) depth += level.depth() + 1;
    if (depth > kDeepestExpression + levels_.size()) fail("an expression is nested too deeply");
  }

  void new_line() {
    if (in_comment_) {
      while (levels_.size() > comment_floor_) close_comment_level();
      in_comment_ = false;
    }
    measure();
    ++line_;
    ++at_;
    count_empty_line();
    if (levels_.size() == 1) {
      levels_.back() = Level{};
      ends_value_ = false;
      begin_line();
    }
  }

  void count_empty_line() {
    if (++empty_lines_ > kMostEmptyLines) fail("it has too many empty lines");
  }

  void close_comment_level() {
    const std::size_t depth = levels_.back().depth();
    levels_.pop_back();
    levels_.back().inside = std::max(levels_.back().inside, depth + 1);
  }

  void begin_line() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '#')) return;
    const std::size_t width = at_ - begin;
    while (!indents_.empty() && indents_.back() >= width) indents_.pop_back();
    indents_.push_back(width);
    if (indents_.size() > kDeepestIndent) fail("its blocks are nested too deeply");
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;
  std::vector<Level> levels_;
  std::vector<std::size_t> indents_;
  std::size_t empty_lines_ = 0, branches_ = 0, comment_floor_ = 1;
  bool in_comment_ = false, ends_value_ = false;
  std::optional<CodeProblem> problem_;
};

}  // namespace

std::optional<CodeProblem> check_code(std::string_view text) {
  return Checker(text).run();
}

}  // namespace elixir::capture
