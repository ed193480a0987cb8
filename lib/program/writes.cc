// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/writes.h"

#include <algorithm>
#include <array>

namespace elixir::program {
namespace {

/// Arguments from `first` to `last` are written without being returned.
struct Writer {
  std::string_view name;
  std::size_t first, last;
};

constexpr std::array<Writer, 6> kWriters{{
    {"aten::_batch_norm_with_update", kRunningMean, kRunningVariance},
    {"aten::_cudnn_rnn_backward", 20, 20},  // the reserve space
    {"aten::_fused_moving_avg_obs_fq_helper", 3, 6},
    {"aten::_native_batch_norm_legit", kRunningMean, kRunningVariance},
    {"aten::rrelu_with_noise", 1, 1},
    {"aten::rrelu_with_noise_", 1, 1},
}};
constexpr Writer kStatistics{{}, kRunningMean, kRunningVariance};

}  // namespace

bool updates_statistics(std::string_view name) {
  return name == "aten::native_batch_norm" || name == "aten::cudnn_batch_norm";
}

std::vector<TensorRef> unreturned_writes(const Operator& call) {
  std::vector<TensorRef> written;
  const auto* writer = std::find_if(kWriters.begin(), kWriters.end(), [&](const Writer& candidate) {
    return candidate.name == call.name;
  });
  if (writer == kWriters.end()) {
    if (!updates_statistics(call.name) || call.arguments.size() <= kBatchNormTraining)
      return written;
    const bool* training = std::get_if<bool>(&call.arguments[kBatchNormTraining]);
    if (training == nullptr || !*training) return written;
    writer = &kStatistics;
  }
  for (std::size_t i = writer->first; i <= writer->last && i < call.arguments.size(); ++i) {
    if (const auto* tensor = std::get_if<TensorRef>(&call.arguments[i])) written.push_back(*tensor);
  }
  return written;
}

}  // namespace elixir::program
