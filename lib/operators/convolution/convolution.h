// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What LibTorch's convolutions ask of the allocator on a GPU: copies of tensors in another memory
// format, results, the workspaces of cuDNN, and the sum that makes the bias's gradient. How large a
// workspace is only cuDNN knows: the caller answers.
//
// Source: ATen/native/Convolution.cpp, cudnn/ConvShared.cpp, cuda/DepthwiseConv2d.cu of
// LibTorch 2.11.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "operators/convolution/convolution_query.h"
#include "operators/scratch/script_builder.h"

namespace elixir::operators {

struct ConvolutionWorkspace {
  std::int64_t bytes = 0;
  bool measured = false;  ///< asked of cuDNN on a GPU of this kind, or recorded there
};
/// nullopt when nobody has asked.
using AnswerConvolution =
    std::function<std::optional<ConvolutionWorkspace>(const ConvolutionQuery&)>;

/// Whether this is a call of one of LibTorch's convolutions: aten::_convolution, aten::convolution
/// and aten::convolution_backward.
[[nodiscard]] bool is_convolution(const program::Operator& op);

/// Writes the script of a convolution. The script is measured if every answer is. A workspace
/// without an answer is estimated as the bytes that the call reads, and the script is modelled.
void write_convolution(ScriptBuilder& script, const AnswerConvolution& answer);

/// Where the workspaces of one call come from, in passes of cuDNN.
struct ConvolutionPasses {
  std::int64_t by_table = 0;    ///< a table has them, or the whole call
  std::int64_t by_library = 0;  ///< cuDNN was asked, and the program keeps its answers
  std::int64_t unanswered = 0;  ///< guessed, though cuDNN could answer
  std::int64_t other = 0;       ///< guessed for a call that cuDNN does not run
  [[nodiscard]] std::int64_t guessed() const { return unanswered + other; }
  void add(const ConvolutionPasses& passes);
};
/// Nothing for other calls, and for convolutions that take no workspace.
[[nodiscard]] ConvolutionPasses passes_of(const program::Operator& op,
                                          const program::Program& program,
                                          const WorkspaceTable& table);

/// Every query that the convolutions of a program lead to and `table` does not answer: each once,
/// in order of their first call.
[[nodiscard]] std::vector<ConvolutionQuery> unknown_convolutions(const program::Program& program,
                                                                 const WorkspaceTable& table);

}  // namespace elixir::operators
