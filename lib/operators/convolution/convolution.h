// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What LibTorch's convolutions ask of the allocator on a GPU: copies of tensors in another memory
// format, results, the workspaces of cuDNN, and the sum that makes the bias's gradient. How large a
// workspace is only cuDNN knows: the caller answers.
//
// Source: ATen/native/Convolution.cpp, cudnn/ConvShared.cpp, cuda/DepthwiseConv2d.cu of LibTorch 2.11.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "operators/convolution/convolution_query.h"
#include "operators/scratch/script_builder.h"

namespace elixir::operators {

struct ConvolutionWorkspace {
  std::int64_t bytes = 0;
  bool measured = false;  ///< asked of cuDNN on such a GPU, or recorded there
};
/// nullopt when nobody has asked.
using AnswerConvolution =
    std::function<std::optional<ConvolutionWorkspace>(const ConvolutionQuery&)>;

/// Whether this is a call of one of LibTorch's convolutions: aten::_convolution, aten::convolution and
/// aten::convolution_backward.
[[nodiscard]] bool is_convolution(const program::Operator& op);

/// Writes the script of such a call. A workspace without an answer is estimated: the bytes that the
/// call reads; then the script is modelled. It is measured where every answer is.
void write_convolution(ScriptBuilder& script, const AnswerConvolution& answer);

/// Every query that the convolutions of a program lead to and `table` does not answer: each once, in
/// order of their first call.
[[nodiscard]] std::vector<ConvolutionQuery> unknown_convolutions(const program::Program& program,
                                                                 const WorkspaceTable& table);

}  // namespace elixir::operators
