// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Parses a command line into the variables of a table of flags. This is the only file that includes
// CLI11, and it uses only what works in both versions 2.1 and 2.4: CLI11 splits the command line
// into flags, values and the rest, and converts nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "tools/common/cli.h"

namespace elixir::tools {
namespace {

/// Names that other programs use for our flags.
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

/// The flags that `name` may mean: those spelt alike, those with this name in other programs, or
/// those that are a part of it ("--batch" for "--batch-size", "--checkpoint-every" for
/// "--checkpoint").
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

std::string name_in(const std::string& word) {
  return word.substr(0, word.find('='));
}

}  // namespace

bool Flags::given(const std::string& name) const {
  for (const Flag& flag : flags_) {
    if (flag.name_ == name) return flag.given_ > 0;
  }
  require(false, "no such flag: " + name);
  return false;
}

std::vector<std::string> Flags::shown_names() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) {
    if (flag.kind_ != FlagKind::kPositional && !flag.hidden_) names.push_back(flag.name_);
  }
  return names;
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
  refuse_misread(arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::kBadFlagValue, "cannot read the command line: {}", error.what());
  }
  const std::vector<std::string> words = words_among(app.remaining());
  for (const auto& [flag, option] : options) {
    assign(*flag, static_cast<int>(option->count()), option->results());
  }
  assign_positionals(words);
  check_exclusive();
}

/// Refuses what CLI11 would misread: for `--flag=` it takes the next word as the value, for
/// `--toggle=x` its error is unclear, and a flag in place of a value hides the missing value.
void Flags::refuse_misread(const std::vector<std::string>& arguments) {
  const auto is_flag = [&](const std::string& word) {
    return (word == "--" || find(name_in(word)) != nullptr) && word[0] == '-';
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    Flag* flag = find(name_in(word));
    if (flag == nullptr || word.empty() || word[0] != '-') continue;
    if (flag->kind_ == FlagKind::kToggle) {
      if (equals == std::string::npos) continue;
      throw Error(ErrorCode::kBadFlagValue, "`{}` takes no value", flag->name_);
    }
    const bool has_value = equals == std::string::npos
                               ? i + 1 < arguments.size() && !is_flag(arguments[i + 1])
                               : equals + 1 < word.size();
    if (!has_value) {
      throw Error(ErrorCode::kBadFlagValue, "`{}` needs a value", flag->name_)
          .help("write {} {}", flag->name_, flag->value_name_);
    }
    if (equals == 2 && word[1] != '-') {
      // CLI11 would take `=` for the value's first letter.
      throw Error(ErrorCode::kBadFlagValue, "a flag of one letter has no `=`: `{}`", word)
          .help("write {} {}, or {}={}",
                word.substr(0, 2),
                word.substr(3),
                flag->name_,
                word.substr(3));
    }
    if (equals == std::string::npos) ++i;
  }
}

/// The plain words among what CLI11 did not recognise. Anything else is a flag that this tool does
/// not have.
std::vector<std::string> Flags::words_among(const std::vector<std::string>& remaining) const {
  std::vector<std::string> words;
  bool only_words = false;
  for (const std::string& word : remaining) {
    if (word == "--" && !only_words) {
      only_words = true;
    } else if (!only_words && word.size() > 1 && word[0] == '-') {
      const std::string name = name_in(word);
      const std::vector<std::string> near = flags_like(name, shown_names());
      throw Error(ErrorCode::kUnknownFlag, "unknown flag `{}`", name)
          .help(near.empty() ? "--help lists all flags; a word that is none goes after `--`"
                             : fmt::format("did you mean {}?", join_quoted(near)));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

void Flags::assign(Flag& flag, int times, const std::vector<std::string>& values) {
  flag.given_ = times;
  if (flag.kind_ == FlagKind::kValue && !flag.repeatable_ && times > 1) {
    throw Error(ErrorCode::kConflictingFlags, "`{}` is given {} times", flag.name_, times)
        .help("give it once");
  }
  flag.words_ = values;
  for (const std::string& word : flag.words_) flag.set_(word);
}

void Flags::assign_positionals(const std::vector<std::string>& words) {
  std::vector<Flag*> positionals;
  for (Flag& flag : flags_) {
    if (flag.kind_ == FlagKind::kPositional) positionals.push_back(&flag);
  }
  std::size_t next = 0;
  for (const std::string& word : words) {
    if (next == positionals.size()) fail_unexpected(word, !positionals.empty());
    Flag& flag = *positionals[next];
    ++flag.given_;
    flag.words_.push_back(word);
    flag.set_(word);
    if (!flag.repeatable_) ++next;
  }
}

void Flags::fail_unexpected(const std::string& word, bool takes_positionals) const {
  std::vector<std::string> help;
  const std::vector<std::string> near = nearest("--" + word, shown_names());
  if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
  help.emplace_back(takes_positionals ? "quote a value that has spaces; flags take one value each"
                                      : "this tool takes flags only; --help lists them");
  throw Error(ErrorCode::kUnexpectedArgument, "unexpected argument `{}`", word)
      .help(std::move(help));
}

void Flags::check_exclusive() const {
  for (const auto& names : exclusive_) {
    std::vector<std::string> together;
    for (const std::string& name : names) {
      if (given(name)) together.push_back(name);
    }
    if (together.size() > 1) {
      throw Error(ErrorCode::kConflictingFlags, "{} exclude each other", join_quoted(together))
          .help("give one of them");
    }
  }
}

void Flags::check_required() const {
  for (const Flag& flag : flags_) {
    if (!flag.required_ || flag.given_ > 0) continue;
    throw Error(ErrorCode::kMissingArgument,
                flag.kind_ == FlagKind::kPositional
                    ? fmt::format("`{}` is missing", flag.name_)
                    : fmt::format("`{} {}` is missing", flag.name_, flag.value_name_))
        .help("{}: {}", flag.name_, flag.help_);
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

}  // namespace elixir::tools
