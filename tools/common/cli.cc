// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The only file that includes CLI11, in a way that versions 2.1 and 2.4 treat alike: it splits the
// command line into flags, values and the rest, and converts nothing.
#include "tools/common/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::tools {
namespace {

constexpr std::size_t kHelpColumns = 80;
constexpr std::size_t kTextColumn = 26;  // where the descriptions start

[[noreturn]] void bad_value(const std::string& flag,
                            const std::string& text,
                            const std::string& expected) {
  throw Error(ErrorCode::kBadFlagValue,
              fmt::format("`{}` is no value for `{}`", text, flag),
              {"expected " + expected});
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string join_quoted(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back("`" + word + "`");
  return join(quoted, ", ");
}

std::int64_t bytes_from(const std::string& flag, const std::string& text) {
  if (const auto value = parse_bytes(text)) return *value;
  bad_value(flag, text, expected_bytes(text));
}

std::int64_t integer_from(const std::string& flag,
                          const std::string& text,
                          const IntegerRange& range) {
  const auto value = parse_integer(text);
  if (!value || !contains(range, *value)) bad_value(flag, text, describe(range));
  return *value;
}

double number_from(const std::string& flag, const std::string& text, const NumberRange& range) {
  const auto value = parse_number(text);
  if (!value || !contains(range, *value)) bad_value(flag, text, describe(range));
  return *value;
}

std::string choice_from(const std::string& flag,
                        const std::string& text,
                        const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  std::vector<std::string> help;
  const std::vector<std::string> near = nearest(text, choices);
  if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
  help.push_back("expected one of " + join_quoted(choices));
  throw Error(ErrorCode::kBadFlagValue,
              fmt::format("`{}` is no value for `{}`", text, flag),
              std::move(help));
}

/// Flags that other programs call otherwise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kOtherNames{{
    {"--learning-rate", "--lr"},
    {"--gradient-accumulation-steps", "--accumulation-steps"},
    {"--max-steps", "--steps"},
    {"--iterations", "--steps"},
    {"--max-grad-norm", "--clip-norm"},
    {"--dtype", "--precision"},
    {"--vram", "--gpu-memory"},
    {"--ram", "--host-memory"},
    {"--dataset", "--data"},
    {"--out", "--output"},
}};

/// Flags that `name` may stand for: spelt alike, called so elsewhere, or a part of the name
/// ("--batch" for "--batch-size", "--checkpoint-every" for "--checkpoint").
std::vector<std::string> flags_like(const std::string& name,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> like = nearest(name, names);
  if (!like.empty()) return like;
  for (const auto& [other, ours] : kOtherNames) {
    if (name == other && std::find(names.begin(), names.end(), ours) != names.end()) {
      return {std::string(ours)};
    }
  }
  constexpr std::size_t kMostSuggested = 3;
  for (const std::string& known : names) {
    const bool part = name.rfind(known + "-", 0) == 0 || known.rfind(name + "-", 0) == 0;
    if (part && like.size() < kMostSuggested) like.push_back(known);
  }
  return like;
}

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

// --- declaration ---------------------------------------------------------------------------------

Flag& Flags::add(FlagKind kind,
                 const std::string& name,
                 const std::string& value_name,
                 const std::string& help,
                 std::function<void(const std::string&)> set) {
  require(find(name) == nullptr, "flag declared twice: " + name);
  Flag flag;
  flag.kind_ = kind;
  flag.name_ = name;
  flag.value_name_ = value_name;
  flag.help_ = help;
  flag.group_ = kind == FlagKind::kPositional ? "Arguments" : group_;
  flag.set_ = std::move(set);
  flags_.push_back(std::move(flag));
  return flags_.back();
}

Flag* Flags::find(const std::string& name) {
  for (Flag& flag : flags_) {
    if (flag.name_ == name || (!flag.letter_.empty() && flag.letter_ == name)) return &flag;
  }
  return nullptr;
}

Flag& Flags::toggle(const std::string& name, bool* value, const std::string& help) {
  return add(FlagKind::kToggle, name, "", help, [value](const std::string&) { *value = true; });
}

Flag& Flags::count(const std::string& name, int* value, const std::string& help) {
  return add(FlagKind::kToggle, name, "", help, [value](const std::string&) { ++*value; });
}

namespace {

std::string shown(const std::string& value) {
  return value;
}
template <class Number>
std::string shown(Number value) {
  return fmt::format("{}", value);
}

/// What --help names as the default: nothing where there is none.
template <class Value, class Show>
std::string default_of(const Value& value, Show show) {
  return show(value);
}
template <class Value, class Show>
std::string default_of(const std::optional<Value>& value, Show show) {
  return value ? show(*value) : std::string();
}

}  // namespace

template <class Target, class Read, class Show>
Flag& Flags::value(const std::string& name,
                   const std::string& value_name,
                   Target* target,
                   const std::string& help,
                   Read read,
                   Show show) {
  return add(FlagKind::kValue,
             name,
             value_name,
             help,
             [target, read](const std::string& text) { *target = read(text); })
      .default_text(default_of(*target, show));
}

template <class Target, class Read>
Flag& Flags::value(const std::string& name,
                   const std::string& value_name,
                   Target* target,
                   const std::string& help,
                   Read read) {
  return value(name, value_name, target, help, read, [](const auto& set) { return shown(set); });
}

Flag& Flags::text(const std::string& name,
                  const std::string& value_name,
                  std::string* value,
                  const std::string& help) {
  return this->value(name, value_name, value, help, [](const std::string& text) { return text; });
}

Flag& Flags::text(const std::string& name,
                  const std::string& value_name,
                  std::optional<std::string>* value,
                  const std::string& help) {
  return this->value(name, value_name, value, help, [](const std::string& text) { return text; });
}

Flag& Flags::texts(const std::string& name,
                   const std::string& value_name,
                   std::vector<std::string>* values,
                   const std::string& help) {
  Flag& flag = add(FlagKind::kValue, name, value_name, help, [values](const std::string& t) {
    values->push_back(t);
  });
  flag.repeatable_ = true;
  return flag;
}

Flag& Flags::choice(const std::string& name,
                    const std::vector<std::string>& choices,
                    std::string* value,
                    const std::string& help) {
  return this->value(name, join(choices, "|"), value, help, [=](const std::string& text) {
    return choice_from(name, text, choices);
  });
}

Flag& Flags::choice(const std::string& name,
                    const std::vector<std::string>& choices,
                    std::optional<std::string>* value,
                    const std::string& help) {
  return this->value(name, join(choices, "|"), value, help, [=](const std::string& text) {
    return choice_from(name, text, choices);
  });
}

Flag& Flags::bytes(const std::string& name, std::int64_t* value, const std::string& help) {
  const auto read = [name](const std::string& text) { return bytes_from(name, text); };
  return this->value(
      name, "SIZE", value, help, read, [](std::int64_t set) { return format_bytes(set); });
}

Flag& Flags::bytes(const std::string& name,
                   std::optional<std::int64_t>* value,
                   const std::string& help) {
  const auto read = [name](const std::string& text) { return bytes_from(name, text); };
  return this->value(
      name, "SIZE", value, help, read, [](std::int64_t set) { return format_bytes(set); });
}

Flag& Flags::sizes(const std::string& name,
                   std::vector<std::int64_t>* values,
                   const std::string& help) {
  return add(
      FlagKind::kValue, name, "SIZE[,SIZE...]", help, [name, values](const std::string& text) {
        const auto sizes = parse_bytes_list(text);
        if (!sizes) bad_value(name, text, expected_bytes(text));
        *values = *sizes;
      });
}

Flag& Flags::integer(const std::string& name,
                     const std::string& value_name,
                     int* value,
                     IntegerRange range,
                     const std::string& help) {
  range.min = std::max<std::int64_t>(range.min, std::numeric_limits<int>::min());
  range.max = std::min<std::int64_t>(range.max, std::numeric_limits<int>::max());
  return this->value(name, value_name, value, help, [=](const std::string& text) {
    return static_cast<int>(integer_from(name, text, range));
  });
}

Flag& Flags::integer(const std::string& name,
                     const std::string& value_name,
                     std::int64_t* value,
                     IntegerRange range,
                     const std::string& help) {
  return this->value(name, value_name, value, help, [=](const std::string& text) {
    return integer_from(name, text, range);
  });
}

Flag& Flags::integer(const std::string& name,
                     const std::string& value_name,
                     std::optional<std::int64_t>* value,
                     IntegerRange range,
                     const std::string& help) {
  return this->value(name, value_name, value, help, [=](const std::string& text) {
    return integer_from(name, text, range);
  });
}

Flag& Flags::number(const std::string& name,
                    const std::string& value_name,
                    double* value,
                    NumberRange range,
                    const std::string& help) {
  return this->value(name, value_name, value, help, [=](const std::string& text) {
    return number_from(name, text, range);
  });
}

Flag& Flags::number(const std::string& name,
                    const std::string& value_name,
                    std::optional<double>* value,
                    NumberRange range,
                    const std::string& help) {
  return this->value(name, value_name, value, help, [=](const std::string& text) {
    return number_from(name, text, range);
  });
}

Flag& Flags::integers(const std::string& name,
                      const std::string& value_name,
                      std::vector<std::int64_t>* values,
                      IntegerRange range,
                      const std::string& help) {
  return add(FlagKind::kValue,
             name,
             value_name,
             help,
             [=](const std::string& t) {
               const auto list = parse_integer_list(t);
               const auto inside = [&](std::int64_t v) { return contains(range, v); };
               if (!list || !std::all_of(list->begin(), list->end(), inside)) {
                 bad_value(
                     name, t, "a list such as 1,2,4 or 1-8 or 1-64*2, each " + describe(range));
               }
               *values = *list;
             })
      .default_text(fmt::format("{}", fmt::join(*values, ",")));
}

Flag& Flags::numbers(const std::string& name,
                     const std::string& value_name,
                     std::vector<double>* values,
                     NumberRange range,
                     const std::string& help) {
  const std::size_t wanted = values->size();
  return add(FlagKind::kValue,
             name,
             value_name,
             help,
             [=](const std::string& t) {
               std::vector<double> list;
               std::size_t start = 0;
               for (;;) {
                 const std::size_t end = std::min(t.find(',', start), t.size());
                 const auto value = parse_number(t.substr(start, end - start));
                 if (!value || !contains(range, *value)) break;
                 list.push_back(*value);
                 if (end == t.size()) {
                   if (list.size() != wanted) break;
                   *values = list;
                   return;
                 }
                 start = end + 1;
               }
               bad_value(
                   name,
                   t,
                   fmt::format("{} values separated by commas, each {}", wanted, describe(range)));
             })
      .default_text(fmt::format("{}", fmt::join(*values, ",")));
}

Flag& Flags::parsed(const std::string& name,
                    const std::string& value_name,
                    std::function<bool(const std::string&)> set,
                    const std::string& expected,
                    const std::string& help) {
  return add(FlagKind::kValue,
             name,
             value_name,
             help,
             [name, expected, set = std::move(set)](const std::string& t) {
               if (!set(t)) bad_value(name, t, expected);
             });
}

Flag& Flags::positional(const std::string& value_name,
                        std::string* value,
                        const std::string& help) {
  return add(FlagKind::kPositional, value_name, value_name, help, [value](const std::string& t) {
    *value = t;
  });
}

Flag& Flags::positionals(const std::string& value_name,
                         std::vector<std::string>* values,
                         const std::string& help) {
  Flag& flag =
      add(FlagKind::kPositional, value_name, value_name, help, [values](const std::string& t) {
        values->push_back(t);
      });
  flag.repeatable_ = true;
  return flag;
}

// --- parsing -------------------------------------------------------------------------------------

bool Flags::given(const std::string& name) const {
  for (const Flag& flag : flags_) {
    if (flag.name_ == name) return flag.given_ > 0;
  }
  require(false, "no such flag: " + name);
  return false;
}

void Flags::assign_positionals(const std::vector<std::string>& words) {
  std::vector<Flag*> positionals;
  for (Flag& flag : flags_) {
    if (flag.kind_ == FlagKind::kPositional) positionals.push_back(&flag);
  }
  std::size_t next = 0;
  for (const std::string& word : words) {
    if (next == positionals.size()) {
      std::vector<std::string> help;
      std::vector<std::string> names;
      for (const Flag& flag : flags_) {
        if (flag.kind_ != FlagKind::kPositional && !flag.hidden_) names.push_back(flag.name_);
      }
      const std::vector<std::string> near = nearest("--" + word, names);
      if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
      if (positionals.empty()) {
        help.emplace_back("this tool takes flags only; --help lists them");
      } else {
        help.push_back(fmt::format("quote a value that has spaces; flags take one value each"));
      }
      throw Error(ErrorCode::kUnexpectedArgument,
                  fmt::format("unexpected argument `{}`", word),
                  std::move(help));
    }
    Flag& flag = *positionals[next];
    ++flag.given_;
    flag.words_.push_back(word);
    flag.set_(word);
    if (!flag.repeatable_) ++next;
  }
}

void Flags::parse(const std::vector<std::string>& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<Flag*, CLI::Option*>> options;
  for (Flag& flag : flags_) {
    if (flag.kind_ == FlagKind::kPositional) continue;
    const std::string names = flag.letter_.empty() ? flag.name_ : flag.letter_ + "," + flag.name_;
    CLI::Option* option =
        flag.kind_ == FlagKind::kToggle ? app.add_flag(names) : app.add_option(names);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    options.emplace_back(&flag, option);
  }

  // What CLI11 would misread: `--flag=` takes the next word as the value, `--toggle=x` is an
  // obscure error, and a flag as the value of the one before hides the missing value.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    Flag* flag = find(word.substr(0, equals));
    if (flag == nullptr || word.empty() || word[0] != '-') continue;
    if (flag->kind_ == FlagKind::kToggle) {
      if (equals == std::string::npos) continue;
      throw Error(ErrorCode::kBadFlagValue, fmt::format("`{}` takes no value", flag->name_));
    }
    const bool has_next = i + 1 < arguments.size();
    const bool next_is_flag =
        has_next &&
        (arguments[i + 1] == "--" ||
         find(arguments[i + 1].substr(0, arguments[i + 1].find('='))) != nullptr) &&
        arguments[i + 1][0] == '-';
    if (equals == std::string::npos ? !has_next || next_is_flag : equals + 1 == word.size()) {
      throw Error(ErrorCode::kBadFlagValue,
                  fmt::format("`{}` needs a value", flag->name_),
                  {fmt::format("write {} {}", flag->name_, flag->value_name_)});
    }
    if (equals == std::string::npos) ++i;
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::kBadFlagValue,
                fmt::format("cannot read the command line: {}", error.what()));
  }

  std::vector<std::string> words;
  bool only_words = false;
  for (const std::string& word : app.remaining()) {
    if (word == "--" && !only_words) {
      only_words = true;
    } else if (!only_words && word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      std::vector<std::string> names;
      for (const Flag& flag : flags_) {
        if (flag.kind_ != FlagKind::kPositional && !flag.hidden_) names.push_back(flag.name_);
      }
      std::vector<std::string> help;
      const std::vector<std::string> near = flags_like(name, names);
      help.push_back(near.empty() ? "--help lists all flags"
                                  : fmt::format("did you mean {}?", join_quoted(near)));
      throw Error(ErrorCode::kUnknownFlag, fmt::format("unknown flag `{}`", name), std::move(help));
    } else {
      words.push_back(word);
    }
  }
  for (const auto& entry : options) {
    Flag& flag = *entry.first;
    flag.given_ = static_cast<int>(entry.second->count());
    if (flag.kind_ == FlagKind::kValue && !flag.repeatable_ && flag.given_ > 1) {
      throw Error(ErrorCode::kConflictingFlags,
                  fmt::format("`{}` is given {} times", flag.name_, flag.given_),
                  {"give it once"});
    }
    flag.words_ = entry.second->results();
    for (const std::string& word : flag.words_) flag.set_(word);
  }
  assign_positionals(words);
  for (const auto& names : exclusive_) {
    std::vector<std::string> together;
    for (const std::string& name : names) {
      if (given(name)) together.push_back(name);
    }
    if (together.size() > 1) {
      throw Error(ErrorCode::kConflictingFlags,
                  fmt::format("{} exclude each other", join_quoted(together)),
                  {"give one of them"});
    }
  }
}

void Flags::check_required() const {
  for (const Flag& flag : flags_) {
    if (!flag.required_ || flag.given_ > 0) continue;
    throw Error(ErrorCode::kMissingArgument,
                flag.kind_ == FlagKind::kPositional
                    ? fmt::format("`{}` is missing", flag.name_)
                    : fmt::format("`{} {}` is missing", flag.name_, flag.value_name_),
                {fmt::format("{}: {}", flag.name_, flag.help_)});
  }
}

void Flags::claim(ClaimedFiles& files) const {
  for (const Flag& flag : flags_) {
    if (flag.file_ != Flag::File::kRead) continue;
    for (const std::string& path : flag.words_) files.reads(flag.name_, path);
  }
  for (const Flag& flag : flags_) {
    if (flag.file_ != Flag::File::kWritten) continue;
    for (const std::string& path : flag.words_) files.writes(flag.name_, path);
  }
}

// --- help ----------------------------------------------------------------------------------------

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
  // The tool's own groups first, in order of declaration; run_tool declares the common ones last.
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
