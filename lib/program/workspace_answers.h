// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a library said when it was asked for the workspaces of calls. A profile keeps it, so that
// everything made of the profile counts with the same bytes; so does the hardware document of a GPU
// that was asked.

#include <cstdint>
#include <map>
#include <string>

#include "core/json.h"

namespace elixir::program {

struct WorkspaceAnswers {
  /// Who was asked, and about what: "cuDNN 9.19.0 on an NVIDIA H200".
  std::string source;
  /// Asked on a GPU of the target. Otherwise cuDNN had a description of it alone, and the bytes are
  /// computed from the engine that it would take.
  bool measured = false;
  /// By query, as operators/convolution/convolution_query.h writes it.
  std::map<std::string, std::int64_t> bytes;
  bool operator==(const WorkspaceAnswers&) const = default;
};

/// All answers of both; of a query that both answer, the better one's. Measured if both are, or if
/// `better` is and answers all of `known`.
[[nodiscard]] WorkspaceAnswers merged(const WorkspaceAnswers& known,
                                      const WorkspaceAnswers& better);

/// No GPU has as much; sums of workspaces do not overflow.
inline constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{1} << 40;
/// Throws Error for what no workspace has.
[[nodiscard]] std::int64_t read_workspace_bytes(const JsonCursor& cursor);

[[nodiscard]] Json to_json(const WorkspaceAnswers& answers);
/// Throws Error at the value that is wrong.
[[nodiscard]] WorkspaceAnswers read_workspace_answers(const JsonCursor& cursor);

}  // namespace elixir::program
