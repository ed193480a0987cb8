// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "difference.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>

#include "program/canonical.h"

namespace elixir::capture {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kShown = 40;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The line without the numbers of storages ("s12.0:", "storage 12 ").
std::string unnumbered(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    const bool starts_word = i == 0 || std::isalnum(static_cast<unsigned char>(line[i - 1])) == 0;
    if (line[i] != 's' || !starts_word) continue;
    std::size_t end = i + 1;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end < line.size() && line[end] == '.') i = end - 1;
  }
  const std::string storage = "storage ";
  if (text.compare(0, storage.size(), storage) == 0) {
    std::size_t end = storage.size();
    while (end < text.size() && is_digit(text[end])) ++end;
    text.erase(storage.size(), end - storage.size());
  }
  return text;
}

/// Collects lines up to the number that is shown.
class Report {
 public:
  void at(std::size_t line) {
    if (shown_ < kShown) text_ += "line " + std::to_string(line) + "\n";
  }
  void context(const std::string& line) {
    if (shown_ < kShown) text_ += "  both " + line + "\n";
  }
  void meta(const std::string& line) { add("  meta ", line); }
  void real(const std::string& line) { add("  real ", line); }
  [[nodiscard]] bool empty() const { return shown_ == 0; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add(const char* side, const std::string& line) {
    if (shown_++ < kShown) text_ += side + line + "\n";
  }
  std::string text_;
  std::size_t shown_ = 0;
};

/// Lengths of the longest common subsequences of the rest of both sides from (i, j) on.
class Common {
 public:
  Common(const Lines& a, const Lines& b)
      : columns_(b.size() + 1), lengths_((a.size() + 1) * columns_) {
    for (std::size_t i = a.size(); i-- > 0;) {
      for (std::size_t j = b.size(); j-- > 0;) {
        lengths_[(i * columns_) + j] =
            a[i] == b[j] ? length(i + 1, j + 1) + 1 : std::max(length(i + 1, j), length(i, j + 1));
      }
    }
  }
  [[nodiscard]] std::uint32_t length(std::size_t i, std::size_t j) const {
    return lengths_[(i * columns_) + j];
  }

 private:
  std::size_t columns_;
  std::vector<std::uint32_t> lengths_;
};

/// Lines that are on one side only, ignoring the numbers of storages.
Report structural(const Lines& meta, const Lines& real) {
  Lines a;
  Lines b;
  for (const std::string& line : meta) a.push_back(unnumbered(line));
  for (const std::string& line : real) b.push_back(unnumbered(line));
  const Common common(a, b);
  Report report;
  bool in_difference = false;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      in_difference = false;
      ++i, ++j;
      continue;
    }
    if (!in_difference) {
      report.at(i);
      if (i > 0) report.context(meta[i - 1]);
    }
    in_difference = true;
    if (j == b.size() || (i < a.size() && common.length(i + 1, j) >= common.length(i, j + 1))) {
      report.meta(meta[i++]);
    } else {
      report.real(real[j++]);
    }
  }
  return report;
}

/// Lines that differ from the line at the same position.
Report line_by_line(const Lines& meta, const Lines& real) {
  Report report;
  for (std::size_t i = 0; i < std::min(meta.size(), real.size()); ++i) {
    if (meta[i] == real[i]) continue;
    report.at(i);
    report.meta(meta[i]);
    report.real(real[i]);
  }
  return report;
}

}  // namespace

Lines lines_of(const program::Program& program) {
  Lines lines;
  for (const program::Operator& call : program.operators) {
    lines.push_back(program::canonical_text(call));
  }
  const auto add = [&](std::string head, const program::TensorRef& tensor) {
    program::append_canonical(head, tensor);
    lines.push_back(head);
  };
  for (const program::Parameter& parameter : program.parameters) {
    add("parameter " + parameter.name + " ", parameter.tensor);
    if (parameter.gradient) add("gradient " + parameter.name + " ", *parameter.gradient);
  }
  for (const program::Buffer& buffer : program.buffers) {
    add("buffer " + buffer.name + (buffer.mutated ? " mutated " : " "), buffer.tensor);
  }
  for (const program::Input& input : program.inputs) add("input " + input.name + " ", input.tensor);
  add("loss ", program.loss);
  for (const program::Storage& storage : program.storages) {
    lines.push_back("storage " + std::to_string(storage.id) + " " + std::to_string(storage.bytes) +
                    " " + std::string(program::name_of(storage.category)) + " " +
                    storage.content_digest + (storage.on_host ? " host" : ""));
  }
  return lines;
}

Lines lifetime_lines(const program::Program& program) {
  Lines lines;
  for (const program::Storage& storage : program.storages) {
    lines.push_back("storage " + std::to_string(storage.id) + " from " +
                    std::to_string(storage.allocated_at) + " to " +
                    std::to_string(storage.freed_after));
  }
  return lines;
}

std::string difference(const Lines& meta, const Lines& real) {
  std::size_t differing = std::max(meta.size(), real.size()) - std::min(meta.size(), real.size());
  for (std::size_t i = 0; i < std::min(meta.size(), real.size()); ++i) {
    differing += meta[i] == real[i] ? 0U : 1U;
  }
  if (differing == 0) return "";
  const Report first = structural(meta, real);
  return std::to_string(differing) + " lines differ\n" +
         (first.empty() ? line_by_line(meta, real) : first).text();
}

}  // namespace elixir::capture
