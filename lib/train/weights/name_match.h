// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How names of a weights file meet those of the program.

#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::train {

struct NameMatch {
  std::map<std::string, std::string> file_name;  ///< by the parameter's or buffer's first name
  std::string file_prefix, model_prefix;         ///< what was stripped; at most one is not empty
  std::vector<std::string> missing;     ///< parameters of the program without data, first names
  std::vector<std::string> unexpected;  ///< names of the file that nothing took
};
/// Strips the dotted prefix, of the file's names or of the program's, that lets most parameters be
/// found; the shortest of equals. Any name of a tied parameter matches.
[[nodiscard]] NameMatch match_names(const std::vector<std::string>& file_names,
                                    const program::Program& program);

}  // namespace elixir::train
