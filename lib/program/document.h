// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The profile document (`elixir.profile`): a program, the model it came from and its memory. It is
// written as a stream and read operator by operator, because a large model has hundreds of
// thousands of tensors.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "program/certainty.h"
#include "program/program.h"

namespace elixir::program {

/// Scratch memory that is alive at the allocated peak. It is no tensor of the program.
struct Workspace {
  std::optional<OperatorId>
      made_at;             ///< the call that asked for it; nullopt: the optimizer's update
  std::int64_t bytes = 0;  ///< of its block
  bool operator==(const Workspace&) const = default;
};

/// Bytes of one training step. Exact values count each storage rounded up to 512 bytes, as
/// LibTorch's caching allocator does. nullopt (null in the document): the figure is not computed.
struct MemorySummary {
  std::int64_t parameters_bytes = 0, buffers_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0;
  std::int64_t activations_peak_bytes = 0;
  std::int64_t peak_allocated_bytes = 0;
  std::optional<std::int64_t> peak_reserved_bytes, process_peak_bytes;
  /// nullopt for a CPU, whose peak counts tensors alone, and in documents of version 1.0.
  std::optional<Certainty> certainty;
  /// In order of request. Empty for a CPU, and in documents before 1.5.
  std::vector<Workspace> workspaces_at_peak;
};
/// As `memory` of a profile.
[[nodiscard]] Json to_json(const MemorySummary& memory);

struct Profile {
  std::string model_path;
  Program program;
  Optimizer optimizer = Optimizer::kAdamW;
  OptimizerForm optimizer_form = OptimizerForm::kElixir;
  bool clips_gradients = false;  ///< with clip_grad_norm_, before torch.optim updates
  [[nodiscard]] OptimizerUse optimizer_use() const {
    return {optimizer, optimizer_form, clips_gradients};
  }
  MemorySummary memory;
  std::int64_t unattributed_operators = 0;
  Json meta;
};

void write_profile(const Profile& profile, const Sink& sink);

/// Reads and checks a document: ids must be positions, references must exist, and the stored
/// fingerprint must be the program's.
[[nodiscard]] Profile load_profile(const std::string& path);
/// The same for text that is in memory. `name` stands for its file in messages.
[[nodiscard]] Profile read_profile(std::string text, const std::string& name);

}  // namespace elixir::program
