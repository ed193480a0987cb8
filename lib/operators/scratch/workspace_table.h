// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Scratch memory that only a library knows (cuDNN's convolutions and recurrent layers), from a GPU:
// the document `elixir.workspaces`, one for each compute capability, shipped as
// profiles/workspaces/sm_NN.json. It has scripts of recorded calls, and answers of cuDNN to
// queries.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json.h"

namespace elixir::operators {

/// One step of a recorded script. A table identifies outputs by position among the fresh outputs.
struct RecordedStep {
  enum class Kind : std::uint8_t { kOutput, kTemporary, kRelease } kind = Kind::kOutput;
  std::int64_t bytes = 0;  ///< kTemporary
  int position = 0;        ///< kOutput, kRelease (of the temporary)
};

/// The libraries whose steps are predicted: rules follow their sources, and runs with them were
/// recorded.
inline constexpr std::string_view kPredictedLibraries = "LibTorch 2.11.0+cu130, cuDNN 9.19";

struct WorkspaceTable {
  std::string target;     ///< "cuda:sm_90"
  std::string libraries;  ///< versions it was measured with
  std::unordered_map<std::string, std::vector<RecordedStep>> calls;  ///< by operator_key
  /// What cuDNN said on a GPU of the target's kind, by query
  /// (operators/convolution/convolution_query.h).
  std::unordered_map<std::string, std::int64_t> queries;

  /// Whether it was recorded with the libraries whose steps are predicted. If not, what it says is
  /// an estimate. A table of no libraries is made by hand and counts as recorded with them.
  [[nodiscard]] bool is_of_predicted_libraries() const {
    return libraries.empty() || libraries == kPredictedLibraries;
  }
};

[[nodiscard]] WorkspaceTable parse_workspace_table(const JsonDocument& document);

/// The shipped table for a compute capability (times ten); empty when there is none. Searches like
/// hardware profiles: $ELIXIR_PROFILES, the installation, the source tree. Throws kJsonBadValue
/// where the file is for another target.
[[nodiscard]] WorkspaceTable shipped_workspace_table(int sm);

}  // namespace elixir::operators
