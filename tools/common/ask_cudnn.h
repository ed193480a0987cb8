// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Asks cuDNN for the workspaces of a program's convolutions, in a process of its own
// (elixir-cudnn): cuDNN may be missing, of another version, or end the process.

#include <memory>
#include <string>

#include "core/name_table.h"
#include "operators/scratch/workspace_table.h"
#include "program/program.h"
#include "program/workspace_answers.h"

namespace elixir::tools {

/// What cuDNN is asked about.
enum class AskAbout : std::uint8_t {
  kDescribedGpu,  ///< the shipped description of a GPU of the program's target; needs no GPU
  kGpuHere,       ///< this machine's GPU
};

struct CudnnAnswers {
  /// nullptr: there was nothing to ask, or cuDNN answered nothing. Never empty. Queries that are
  /// not in it have no usable answer.
  std::shared_ptr<const program::WorkspaceAnswers> answers;
  std::string failure;  ///< why cuDNN did not answer, in a line; empty when it did
};

/// Asks about every convolution whose workspace `table` does not know, and waits 10 s and 10 ms for
/// each query at most. Never throws for what is wrong with cuDNN. Throws kJsonBadValue where the
/// description of the target's GPU is of another one or of none.
[[nodiscard]] CudnnAnswers ask_cudnn(const program::Program& program,
                                     const operators::WorkspaceTable& table,
                                     AskAbout about);

}  // namespace elixir::tools
