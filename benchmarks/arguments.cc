// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "benchmarks/arguments.h"

#include <cstdlib>
#include <exception>
#include <iostream>

namespace elixir::benchmarks {
namespace {

bool parse(const CommandLine& line, int argc, char** argv) {
  constexpr long kMost = 1L << 30;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--json") {
      *line.json = true;
      continue;
    }
    const auto number = line.numbers.find(option);
    if (number == line.numbers.end() || i + 1 == argc) return false;
    char* end = nullptr;
    *number->second = std::strtol(argv[++i], &end, 10);
    if (*end != '\0' || *number->second < 1 || *number->second > kMost) return false;
  }
  return true;
}

}  // namespace

int run(const CommandLine& line, int argc, char** argv, const std::function<int()>& benchmark) {
  if (!parse(line, argc, argv)) {
    std::cerr << "usage: " << line.name << " " << line.usage << "\n";
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
