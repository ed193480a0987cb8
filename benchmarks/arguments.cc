// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "benchmarks/arguments.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>

namespace elixir::benchmarks {
namespace {

bool read_number(const std::string& text, long& number) {
  constexpr long kMost = 1L << 30;
  char* end = nullptr;
  number = std::strtol(text.c_str(), &end, 10);
  return *end == '\0' && number >= 1 && number <= kMost;
}

bool read_choice(const std::string& text, const CommandLine::Choice& choice) {
  *choice.value = text;
  return std::find(choice.allowed.begin(), choice.allowed.end(), text) != choice.allowed.end();
}

bool parse(const CommandLine& line, const std::vector<std::string>& arguments) {
  bool file_is_there = line.file == nullptr;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    if (option == "--json" && line.json != nullptr) {
      *line.json = true;
      continue;
    }
    if (!file_is_there && option.rfind("--", 0) != 0) {
      *line.file = option;
      file_is_there = true;
      continue;
    }
    if (++i == arguments.size()) return false;
    const auto number = line.numbers.find(option);
    const auto choice = line.choices.find(option);
    const bool right = number != line.numbers.end() ? read_number(arguments[i], *number->second)
                                                    : choice != line.choices.end() &&
                                                          read_choice(arguments[i], choice->second);
    if (!right) return false;
  }
  return file_is_there;
}

}  // namespace

int run(const CommandLine& line, int argc, char** argv, const std::function<int()>& benchmark) {
  const std::string usage = "usage: " + line.name + " " + line.usage + "\n";
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
    std::cout << usage;
    return 0;
  }
  if (!parse(line, arguments)) {
    std::cerr << usage;
    return 2;
  }
  try {
    return benchmark();
  } catch (const std::exception& error) {
    std::cerr << line.name << ": " << error.what() << "\n";
    return 4;
  }
}

}  // namespace elixir::benchmarks
