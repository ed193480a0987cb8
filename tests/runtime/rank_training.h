// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Trainings of several ranks, each a process, for tests. Nothing of CUDA may have run in the test's
// own process, and of LibTorch nothing with several threads.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/training.h"

namespace elixir::runtime {

/// Runs `body` in a process for each rank. Its text by rank; "error: …" when it has thrown.
std::vector<std::string> on_ranks(int world, const std::function<std::string(const Ranks&)>& body);

struct RankTraining {
  std::string model = "gpt2-wide-bf16";  ///< of which each of four ranks holds some elements
  Placement placement;
  std::size_t offload_nth = 0;
  bool recomputes = false;
  std::optional<LossScaleOptions> loss_scale = {};  ///< nullopt: the plan has none
  CpuOrder order = {};
  int late_ms = 0;                 ///< how long the last rank waits before each step
  int dies_after_steps = -1;       ///< then the last rank is killed; -1: never
  int sm = 0;                      ///< compute capability times ten of the GPUs; 0: the CPU device
  bool takes_gpu_of_rank = false;  ///< else the first
  std::int64_t last_step = 3;
  /// Before the first step, which is the one after the trainer's newest, and after the last one.
  std::function<void(Trainer&, const Ranks&)> begins = {}, ends = {};
};

/// Losses, norms and all state after some steps, as bits, with what was not as predicted.
std::string train(const RankTraining& training, const Ranks& ranks);
/// The same on every rank, or the test fails.
std::string train_on_ranks(const RankTraining& training);
/// As one rank.
std::string train_alone(RankTraining training);

/// Seven of them (under AddressSanitizer four), with clipping. A large chunk and a private one, of
/// which every rank has a part.
std::vector<Placement> placements(int world);

}  // namespace elixir::runtime
