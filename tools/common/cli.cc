// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/cli.h"

#include <algorithm>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::tools {
namespace {

[[noreturn]] void bad_value(const std::string& flag,
                            const std::string& text,
                            const std::string& expected) {
  throw Error(ErrorCode::kBadFlagValue, "`{}` is not a value for `{}`", text, flag)
      .help("expected {}", expected);
}

std::string one_of(const std::vector<std::string>& choices) {
  return fmt::format("{}", fmt::join(choices, "|"));
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

std::vector<std::int64_t> integers_from(const std::string& flag,
                                        const std::string& text,
                                        const IntegerRange& range) {
  const auto parsed = parse_integer_list(text);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&parsed)) {
    const auto inside = [&](std::int64_t value) { return contains(range, value); };
    if (std::all_of(list->begin(), list->end(), inside)) return *list;
  } else if (std::get<ListFault>(parsed) == ListFault::kFalls) {
    bad_value(flag, text, "ranges from the smaller number to the larger, such as 1-8");
  } else if (std::get<ListFault>(parsed) == ListFault::kTooLong) {
    bad_value(
        flag, text, fmt::format("a list of at most {} values", format_count(kMostListValues)));
  }
  bad_value(flag, text, "a list such as 1,2,4 or 1-8 or 1-64*2, each " + describe(range));
}

std::string choice_from(const std::string& flag,
                        const std::string& text,
                        const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  std::vector<std::string> help;
  const std::vector<std::string> near = nearest(text, choices);
  if (!near.empty()) help.push_back(fmt::format("did you mean {}?", join_quoted(near)));
  help.push_back("expected one of " + join_quoted(choices));
  throw Error(ErrorCode::kBadFlagValue, "`{}` is not a value for `{}`", text, flag)
      .help(std::move(help));
}

std::string shown(const std::string& value) {
  return value;
}
template <class Number>
std::string shown(Number value) {
  return fmt::format("{}", value);
}

/// The default in --help; empty if there is none.
template <class Value, class Show>
std::string default_of(const Value& value, Show show) {
  return show(value);
}
template <class Value, class Show>
std::string default_of(const std::optional<Value>& value, Show show) {
  return value ? show(*value) : std::string();
}

}  // namespace

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
  return this->value(name, one_of(choices), value, help, [=](const std::string& text) {
    return choice_from(name, text, choices);
  });
}

Flag& Flags::choice(const std::string& name,
                    const std::vector<std::string>& choices,
                    std::optional<std::string>* value,
                    const std::string& help) {
  return this->value(name, one_of(choices), value, help, [=](const std::string& text) {
    return choice_from(name, text, choices);
  });
}

Flag& Flags::chosen(const std::string& name,
                    const std::vector<std::string>& choices,
                    const std::function<void(const std::string&)>& set,
                    const std::string& help) {
  return add(FlagKind::kValue, name, one_of(choices), help, [=](const std::string& text) {
    set(choice_from(name, text, choices));
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
             [=](const std::string& text) { *values = integers_from(name, text, range); })
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

}  // namespace elixir::tools
