// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/writes.h"

namespace elixir::program {

bool updates_statistics(std::string_view name) {
  return name == "aten::native_batch_norm" || name == "aten::cudnn_batch_norm";
}

std::vector<TensorRef> unreturned_writes(const Operator& call) {
  std::vector<TensorRef> written;
  if (!updates_statistics(call.name) || call.arguments.size() <= kBatchNormTraining) return written;
  const bool* training = std::get_if<bool>(&call.arguments[kBatchNormTraining]);
  if (training == nullptr || !*training) return written;
  for (const std::size_t position : {kRunningMean, kRunningVariance}) {
    if (const auto* tensor = std::get_if<TensorRef>(&call.arguments[position])) {
      written.push_back(*tensor);
    }
  }
  return written;
}

}  // namespace elixir::program
