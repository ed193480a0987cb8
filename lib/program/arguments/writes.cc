// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/arguments/writes.h"

#include <algorithm>

#include "program/arguments/arguments.h"

namespace elixir::program {
namespace {

/// An operator, and the arguments that it writes without returning them.
struct Writer {
  std::string_view name;
  std::array<std::string_view, 4> arguments;  ///< "" after the last
};

constexpr std::array<Writer, 6> kWriters{{
    {"aten::_batch_norm_with_update", {"running_mean", "running_var"}},
    {"aten::_cudnn_rnn_backward", {"reserve"}},
    {"aten::_fused_moving_avg_obs_fq_helper",
     {"running_min", "running_max", "scale", "zero_point"}},
    {"aten::_native_batch_norm_legit", {"running_mean", "running_var"}},
    {"aten::rrelu_with_noise", {"noise"}},
    {"aten::rrelu_with_noise_", {"noise"}},
}};

}  // namespace

bool updates_statistics(std::string_view name) {
  return name == "aten::native_batch_norm" || name == "aten::cudnn_batch_norm";
}

std::vector<TensorRef> unreturned_writes(const Operator& op) {
  std::vector<TensorRef> written;
  const auto add = [&](const Arguments& call, std::string_view name) {
    if (const TensorRef* tensor = call.tensor(name)) written.push_back(*tensor);
  };
  if (updates_statistics(op.name)) {
    const Arguments call(op);
    if (!call.flag("training")) return written;
    for (const std::string_view name : kStatistics) add(call, name);
    return written;
  }
  const auto* writer = std::find_if(kWriters.begin(), kWriters.end(), [&](const Writer& candidate) {
    return candidate.name == op.name;
  });
  if (writer == kWriters.end()) return written;
  const Arguments call(op);
  for (const std::string_view name : writer->arguments) {
    if (!name.empty()) add(call, name);
  }
  return written;
}

}  // namespace elixir::program
