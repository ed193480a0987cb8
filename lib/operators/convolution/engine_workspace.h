// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The workspace of one of cuDNN's engines, from what cuDNN says without a GPU. It names the engine
// that it would take and the engine's settings (knobs). The workspace that it names is for a GPU
// with 18 multiprocessors, because a description of a GPU does not say how they are grouped.
// Engines that split the last tiles of the result between idle multiprocessors need more on a
// larger GPU: that part is computed here.
//
// Source: measured. cuDNN 9.19 was asked for 8,418 passes of convolutions with an H100 and without
// (docs/accuracy.md says how many are equal).

#include <cstdint>
#include <vector>

#include "operators/convolution/convolution_query.h"

namespace elixir::operators {

/// A setting of an engine: a type of cudnnBackendKnobType_t and its value.
struct EngineKnob {
  int type = 0;
  std::int64_t value = 0;
  bool operator==(const EngineKnob&) const = default;
};

struct ConvolutionEngine {
  std::int64_t engine = -1;
  std::vector<EngineKnob> knobs;
  std::int64_t bytes = 0;  ///< as cuDNN says
  /// Asked without a GPU: the workspace on 1, 2, … 18 multiprocessors, -1 where the engine cannot
  /// run on so few. Empty when the engine does not say.
  std::vector<std::int64_t> bytes_by_multiprocessors;
};

/// The workspace that the engine takes on a GPU with so many multiprocessors. `engine` is an answer
/// without a GPU.
[[nodiscard]] std::int64_t workspace_on(const ConvolutionQuery& query,
                                        const ConvolutionEngine& engine,
                                        int multiprocessors);

}  // namespace elixir::operators
