// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The flag table of a tool. A tool declares its flags once. The table then parses the command line
// and writes -h, --help and the data for man pages and completions. CLI11 only splits the command
// line. Every value is converted here, so that ranges, units, suggestions and messages are the same
// in every tool. A flag's default is the value of its variable at declaration, so the help always
// shows the real default.
//
//   flags.group("Inputs");
//   flags.text("--profile", "FILE", &options.profile, "profile of the model").required().brief();
//   flags.group("Search space");
//   flags.bytes("--gpu-memory", &options.gpu_memory, "bound of the process").brief();
//   flags.integer("--gpus", "N", &options.gpus, {1, 1024}, "GPUs to plan for");
//   flags.choice("--strategy", {"optimal", "simple"}, &options.strategy, "how to search");

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/name_table.h"
#include "tools/common/claimed_files.h"
#include "tools/common/values.h"

namespace elixir::tools {

enum class FlagKind { kToggle, kValue, kPositional };

/// One row of the table. Flags declares it; the setters refine it.
class Flag {
 public:
  /// Makes the flag mandatory.
  Flag& required() {
    required_ = true;
    return *this;
  }
  /// Shows the flag in `-h` too.
  Flag& brief() {
    brief_ = true;
    return *this;
  }
  /// Adds a one-letter name: "-o".
  Flag& letter(std::string name) {
    letter_ = std::move(name);
    return *this;
  }
  /// Replaces the default in the help, e.g. by "the machine's".
  Flag& default_text(std::string text) {
    default_text_ = std::move(text);
    return *this;
  }
  /// The value names a file or directory to read, so no output may be the same (claimed_files.h).
  Flag& reads() {
    file_ = File::kRead;
    return *this;
  }
  /// The value names a file to write.
  Flag& writes() {
    file_ = File::kWritten;
    return *this;
  }
  /// Accepts the flag but hides it from all help.
  Flag& hidden() {
    hidden_ = true;
    return *this;
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class Flags;
  enum class File { kNone, kRead, kWritten };
  FlagKind kind_ = FlagKind::kToggle;
  File file_ = File::kNone;
  std::string name_, letter_, value_name_, help_, group_, default_text_;
  bool required_ = false, brief_ = false, hidden_ = false, repeatable_ = false;
  int given_ = 0;
  std::vector<std::string> words_;                    // values given
  std::function<void(const std::string& text)> set_;  // throws Error(kBadFlagValue)
};

class Flags {
 public:
  /// Sets the heading of the flags that are declared next.
  void group(std::string title) { group_ = std::move(title); }

  Flag& toggle(const std::string& name, bool* value, const std::string& help);
  /// Counts how often the flag is given.
  Flag& count(const std::string& name, int* value, const std::string& help);

  Flag& text(const std::string& name,
             const std::string& value_name,
             std::string* value,
             const std::string& help);
  Flag& text(const std::string& name,
             const std::string& value_name,
             std::optional<std::string>* value,
             const std::string& help);
  /// May be repeated. Each occurrence adds one value.
  Flag& texts(const std::string& name,
              const std::string& value_name,
              std::vector<std::string>* values,
              const std::string& help);
  Flag& choice(const std::string& name,
               const std::vector<std::string>& choices,
               std::string* value,
               const std::string& help);
  Flag& choice(const std::string& name,
               const std::vector<std::string>& choices,
               std::optional<std::string>* value,
               const std::string& help);
  /// One of the values that `names`, a constant, has words for; of `allowed` alone when it is not
  /// empty.
  template <class Enum, std::size_t kCount>
  Flag& choice(const std::string& name,
               const NameTable<Enum, kCount>& names,
               Enum* value,
               const std::string& help,
               const std::vector<Enum>& allowed = {}) {
    const auto set = [&names, value](const std::string& text) { *value = *names.named(text); };
    return chosen(name, words_of(names, allowed), set, help)
        .default_text(std::string(names.name_of(*value)));
  }
  template <class Enum, std::size_t kCount>
  Flag& choice(const std::string& name,
               const NameTable<Enum, kCount>& names,
               std::optional<Enum>* value,
               const std::string& help) {
    const auto set = [&names, value](const std::string& text) { *value = names.named(text); };
    return chosen(name, names.names(), set, help)
        .default_text(*value ? std::string(names.name_of(**value)) : std::string());
  }
  /// Sizes: 24GiB, 80GB, 512.
  Flag& bytes(const std::string& name, std::int64_t* value, const std::string& help);
  Flag& bytes(const std::string& name, std::optional<std::int64_t>* value, const std::string& help);
  /// Several sizes: 16,24,40,80GiB. Sizes without a unit take the unit of the last.
  Flag& sizes(const std::string& name, std::vector<std::int64_t>* values, const std::string& help);
  Flag& integer(const std::string& name,
                const std::string& value_name,
                int* value,
                IntegerRange range,
                const std::string& help);
  Flag& integer(const std::string& name,
                const std::string& value_name,
                std::int64_t* value,
                IntegerRange range,
                const std::string& help);
  Flag& integer(const std::string& name,
                const std::string& value_name,
                std::optional<std::int64_t>* value,
                IntegerRange range,
                const std::string& help);
  Flag& number(const std::string& name,
               const std::string& value_name,
               double* value,
               NumberRange range,
               const std::string& help);
  Flag& number(const std::string& name,
               const std::string& value_name,
               std::optional<double>* value,
               NumberRange range,
               const std::string& help);
  /// Integers as a list or a range: "1,2,4", "1-8", "0-8+2", "1-64*2".
  Flag& integers(const std::string& name,
                 const std::string& value_name,
                 std::vector<std::int64_t>* values,
                 IntegerRange range,
                 const std::string& help);
  /// Exactly as many numbers as `values` holds, separated by commas: 0.9,0.999.
  Flag& numbers(const std::string& name,
                const std::string& value_name,
                std::vector<double>* values,
                NumberRange range,
                const std::string& help);

  /// Any other value. `set` takes the text and returns whether it is valid. `expected` completes
  /// "expected …".
  Flag& parsed(const std::string& name,
               const std::string& value_name,
               std::function<bool(const std::string&)> set,
               const std::string& expected,
               const std::string& help);

  Flag& positional(const std::string& value_name, std::string* value, const std::string& help);
  Flag& positionals(const std::string& value_name,
                    std::vector<std::string>* values,
                    const std::string& help);

  /// Allows at most one of these flags (kConflictingFlags).
  void exclusive(std::vector<std::string> names) { exclusive_.push_back(std::move(names)); }
  /// Whether the command line had the flag ("--steps"). Distinguishes a default from a choice.
  [[nodiscard]] bool given(const std::string& name) const;

  /// Sets the bound variables. Throws kUnknownFlag, kBadFlagValue, kMissingArgument,
  /// kConflictingFlags, kUnexpectedArgument.
  void parse(const std::vector<std::string>& arguments);
  /// Throws kMissingArgument when a required flag is missing. Separate from parse(), so that --help
  /// needs no flags.
  void check_required() const;
  /// Claims the files that the command line names: first those to read, then those to write.
  void claim(ClaimedFiles& files) const;

  /// "elixir-search --profile FILE --hardware NAME [options]".
  [[nodiscard]] std::string usage(const std::string& tool) const;
  enum class Help { kBrief, kFull };
  /// The groups with their flags.
  [[nodiscard]] std::string help(Help help) const;
  /// The table as JSON: [{name, letter, value, file, group, help, default, required, repeatable}].
  [[nodiscard]] Json table() const;

 private:
  template <class Enum, std::size_t kCount>
  [[nodiscard]] static std::vector<std::string> words_of(const NameTable<Enum, kCount>& names,
                                                         const std::vector<Enum>& allowed) {
    std::vector<std::string> words;
    words.reserve(allowed.size());
    for (const Enum value : allowed) words.emplace_back(names.name_of(value));
    return allowed.empty() ? names.names() : words;
  }
  Flag& chosen(const std::string& name,
               const std::vector<std::string>& choices,
               const std::function<void(const std::string&)>& set,
               const std::string& help);
  /// A flag with one value. `read` parses the text, `show` formats the default.
  template <class Target, class Read, class Show>
  Flag& value(const std::string& name,
              const std::string& value_name,
              Target* target,
              const std::string& help,
              Read read,
              Show show);
  template <class Target, class Read>
  Flag& value(const std::string& name,
              const std::string& value_name,
              Target* target,
              const std::string& help,
              Read read);
  Flag& add(FlagKind kind,
            const std::string& name,
            const std::string& value_name,
            const std::string& help,
            std::function<void(const std::string&)> set);
  Flag* find(const std::string& name);
  /// The names of all flags that --help shows.
  [[nodiscard]] std::vector<std::string> shown_names() const;
  void refuse_misread(const std::vector<std::string>& arguments);
  [[nodiscard]] std::vector<std::string> words_among(
      const std::vector<std::string>& remaining) const;
  static void assign(Flag& flag, int times, const std::vector<std::string>& values);
  void assign_positionals(const std::vector<std::string>& words);
  [[noreturn]] void fail_unexpected(const std::string& word, bool takes_positionals) const;
  void check_exclusive() const;

  std::string group_ = "Options";
  std::deque<Flag> flags_;  // a deque: references to its elements stay valid
  std::vector<std::vector<std::string>> exclusive_;
};

/// Wraps paragraphs (separated by empty lines) for the help.
[[nodiscard]] std::string wrap_paragraphs(const std::string& text);

}  // namespace elixir::tools
