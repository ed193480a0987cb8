// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Matches the names of a weights file with those of the program.

#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::train {

struct NameMatch {
  std::map<std::string, std::string> file_name;  ///< by the parameter's or buffer's first name
  /// Other names of the file for the same tensor, by its first name in the program.
  std::map<std::string, std::vector<std::string>> other_names;
  std::string file_prefix, model_prefix;  ///< prefixes that were stripped; at most one is not empty
  std::vector<std::string> missing;       ///< parameters of the program without data, by first name
  std::vector<std::string> unexpected;    ///< names of the file that are not used
};
/// Strips the dotted prefix, from the file's names or from the program's, with which most
/// parameters are found; on ties the shortest. Any name of a tied parameter matches.
[[nodiscard]] NameMatch match_names(const std::vector<std::string>& file_names,
                                    const program::Program& program);

}  // namespace elixir::train
