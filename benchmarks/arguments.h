// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The command line of a benchmark. All of them take --help.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace elixir::benchmarks {

/// What options and file point to is the default.
struct CommandLine {
  struct Choice {
    std::string* value = nullptr;
    std::vector<std::string> allowed;
  };
  std::string name;                       ///< of the program
  std::string usage;                      ///< its options, for people
  std::map<std::string, long*> numbers;   ///< by option
  std::map<std::string, Choice> choices;  ///< by option
  std::string* file = nullptr;            ///< an argument without an option, which must be there
  bool* json = nullptr;                   ///< --json
};

/// Reads the arguments and runs `benchmark`. Returns the exit code: the benchmark's; 0 for --help;
/// 2 for wrong arguments; 4 when it throws.
int run(const CommandLine& line, int argc, char** argv, const std::function<int()>& benchmark);

}  // namespace elixir::benchmarks
