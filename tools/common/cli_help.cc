// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Formats the --help text of a table of flags.
#include <algorithm>

#include "tools/common/cli.h"

namespace elixir::tools {
namespace {

constexpr std::size_t kHelpColumns = 80;
constexpr std::size_t kTextColumn = 26;  // descriptions start here

/// Appends `text` at `column`, wrapped at kHelpColumns.
void wrap(std::string& out, std::size_t column, const std::string& text) {
  std::size_t at = column;
  bool first = true;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find(' ', start);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(start, end - start);
    start = end + 1;
    if (!first && at + 1 + word.size() > kHelpColumns) {
      out += '\n' + std::string(column, ' ');
      at = column;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    first = false;
  }
  out += '\n';
}

}  // namespace

std::string wrap_paragraphs(const std::string& text) {
  std::string result;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find("\n\n", start), text.size());
    std::string paragraph = text.substr(start, end - start);
    std::replace(paragraph.begin(), paragraph.end(), '\n', ' ');
    if (!result.empty()) result += '\n';
    wrap(result, 0, paragraph);
    start = end + 2;
  }
  return result;
}

std::string Flags::usage(const std::string& tool) const {
  std::string text = tool;
  bool has_options = false;
  std::string positionals;
  for (const Flag& flag : flags_) {
    if (flag.kind_ == FlagKind::kPositional) {
      positionals += flag.required_ ? " " : " [";
      positionals += flag.name_;
      if (flag.repeatable_) positionals += "...";
      if (!flag.required_) positionals += "]";
    } else if (flag.required_) {
      text += " " + flag.name_ + " " + flag.value_name_;
    } else {
      has_options = true;
    }
  }
  return text + positionals + (has_options ? " [options]" : "");
}

std::string Flags::help(Help help) const {
  std::vector<std::string> groups;
  // The tool's own groups come first, in order of declaration. run_tool declares the common ones
  // last.
  for (const Flag& flag : flags_) {
    if (std::find(groups.begin(), groups.end(), flag.group_) == groups.end()) {
      groups.push_back(flag.group_);
    }
  }
  std::string text;
  for (const std::string& group : groups) {
    std::string body;
    for (const Flag& flag : flags_) {
      if (flag.group_ != group || flag.hidden_) continue;
      if (help == Help::kBrief && !flag.brief_ && !flag.required_) continue;
      std::string head = "  ";
      if (flag.kind_ != FlagKind::kPositional)
        head += flag.letter_.empty() ? "    " : flag.letter_ + ", ";
      head += flag.name_;
      if (flag.kind_ == FlagKind::kValue) head += " " + flag.value_name_;
      std::string description = flag.help_;
      if (flag.repeatable_) description += "; repeatable";
      if (!flag.default_text_.empty() && !flag.required_) {
        description += " (default: " + flag.default_text_ + ")";
      }
      if (head.size() + 2 > kTextColumn) {
        body += head + '\n';
        body.append(kTextColumn, ' ');
      } else {
        body += head;
        body.append(kTextColumn - head.size(), ' ');
      }
      wrap(body, kTextColumn, description);
    }
    if (body.empty()) continue;
    if (!text.empty()) text += '\n';
    text += group;
    text += ":\n";
    text += body;
  }
  return text;
}

Json Flags::table() const {
  Json table = Json::array();
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  for (const Flag& flag : flags_) {
    if (flag.hidden_) continue;
    Json row = Json::object();
    row["name"] = flag.name_;
    row["letter"] = text_or_null(flag.letter_);
    row["value"] = flag.kind_ == FlagKind::kToggle ? Json(nullptr) : Json(flag.value_name_);
    row["file"] = flag.file_ == Flag::File::kRead      ? Json("read")
                  : flag.file_ == Flag::File::kWritten ? Json("written")
                                                       : Json(nullptr);
    row["group"] = flag.group_;
    row["help"] = flag.help_;
    row["default"] = text_or_null(flag.default_text_);
    row["required"] = flag.required_;
    row["repeatable"] = flag.repeatable_;
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace elixir::tools
