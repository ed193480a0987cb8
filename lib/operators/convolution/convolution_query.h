// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A question for cuDNN: the workspace of one convolution. LibTorch asks cuDNN the same for one pass
// of a convolution and sizes the scratch memory of the call by the answer.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/name_table.h"
#include "program/program.h"

namespace elixir::operators {

/// Which of the three tensors is the result: y of the input x and the filter w, or one of the
/// gradients of x and w.
enum class ConvolutionPass : std::uint8_t { kForward, kInputGradient, kFilterGradient };
inline constexpr NameTable<ConvolutionPass, 3> kConvolutionPasses{
    {{ConvolutionPass::kForward, "fwd"},
     {ConvolutionPass::kInputGradient, "dgrad"},
     {ConvolutionPass::kFilterGradient, "wgrad"}}};

/// A transposed convolution asks for the input's gradient of the convolution that it transposes.
struct ConvolutionQuery {
  ConvolutionPass pass = ConvolutionPass::kForward;
  program::DType dtype = program::DType::kFloat32;  ///< fp32, fp64, bf16 or fp16
  bool channels_last = false;
  std::vector<std::int64_t> input;   ///< N, C, [D,] H, W
  std::vector<std::int64_t> filter;  ///< K, C / groups, [T,] R, S
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
  bool operator==(const ConvolutionQuery&) const = default;

  /// N, K and the sizes of the result.
  [[nodiscard]] std::vector<std::int64_t> output() const;
};

/// Larger sizes are no convolution's, and products of two of them do not overflow.
inline constexpr std::int64_t kMostConvolutionSize = std::int64_t{1} << 30;

/// Whether cuDNN can be asked: ranks and sizes fit, and the dtype is one of the above. False for
/// what a damaged document may say.
[[nodiscard]] bool is_possible(const ConvolutionQuery& query);

/// "fwd bf16 nchw x=16,3,224,224 w=96,3,4,4 s=4,4 p=0,0 d=1,1 g=1": the same for equal queries.
[[nodiscard]] std::string text_of(const ConvolutionQuery& query);
/// nullopt for what is no such text, or has a size that no convolution has.
[[nodiscard]] std::optional<ConvolutionQuery> parse_convolution_query(std::string_view text);

}  // namespace elixir::operators
