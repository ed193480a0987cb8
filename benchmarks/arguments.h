// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The command line of a benchmark whose options are numbers.

#include <functional>
#include <map>
#include <string>

namespace elixir::benchmarks {

struct CommandLine {
  std::string name;                      ///< of the program
  std::string usage;                     ///< its options, for people
  std::map<std::string, long*> numbers;  ///< by option; what they point to is the default
  bool* json = nullptr;                  ///< --json
};

/// Reads the arguments and runs `benchmark`. Returns the exit code: the benchmark's; 2 for wrong arguments; 4 when it
/// throws.
int run(const CommandLine& line, int argc, char** argv, const std::function<int()>& benchmark);

}  // namespace elixir::benchmarks
