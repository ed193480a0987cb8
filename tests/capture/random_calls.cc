// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <utility>

namespace elixir::capture {

RandomCalls all_random_calls() {
  RandomCalls all;
  for (RandomCalls (*topic)() : {&random_elementwise_calls,
                                 &random_indexing_calls,
                                 &random_reduction_calls,
                                 &random_loss_calls,
                                 &random_image_calls,
                                 &random_norm_calls,
                                 &random_algebra_calls,
                                 &random_attention_calls}) {
    for (RandomCall& call : topic()) all.push_back(std::move(call));
  }
  return all;
}

}  // namespace elixir::capture
