// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A run of ranks that torchrun or SLURM has started (variables.h), and what every rank other than
// 0 does, whoever has started it.

#include <vector>

#include "core/directory.h"
#include "plan/plan.h"
#include "runtime/ranks/rendezvous.h"
#include "tools/common/run_tool.h"
#include "tools/train/input_digests.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"

namespace elixir::tools {

/// This rank, and its ways to the others.
struct MetRanks {
  runtime::StartedRank started;
  runtime::RankWays ways;
};

/// An environment variable: how many seconds ranks wait for each other at the start.
inline constexpr const char* kConnectSecondsVariable = "ELIXIR_CONNECT_SECONDS";

/// Where ranks on several machines have no secret: says who could join. For rank 0, before it meets
/// the others.
void warn_of_strangers(const runtime::StartedRank& started, Context& context);

/// Chooses this rank's GPU and meets the others. Throws as runtime::meet().
[[nodiscard]] MetRanks meet_ranks(const runtime::StartedRank& started);

/// Throws kRanksDiffer when not all have the same inputs, kRanksContradict when the plan is for
/// another number of ranks. Every rank must call it.
void check_met(const MetRanks& met,
               const TrainOptions& options,
               const TrainInputs& inputs,
               const std::vector<InputDigest>& digests);

/// Threads of one rank that a launcher has started; 0: as for others.
[[nodiscard]] int threads_of_started_rank();

/// Warns where AdamW on the host would have one thread because torchrun sets OMP_NUM_THREADS=1 when
/// nobody has set it. For rank 0.
void warn_of_few_threads(const MetRanks& met, const plan::Plan& plan, Context& context);

/// The work of a rank other than 0. `met`: nullptr when rank 0 has started it.
[[nodiscard]] Answer follow(TrainOptions options,
                            const runtime::RankWays& ways,
                            const MetRanks* met,
                            Context& context);

/// Lets the others hear why this rank ends, unless they find it by themselves.
void tell_others(const Error& error, const runtime::RankWays& ways);

/// A rank that hangs cannot end as the others do. When they have given it up, this ends it.
void end_when_overdue(const runtime::RankWays& ways);

/// What this rank leaves when it fails: the others hear why, and its last tasks are written down.
/// `run`: nullptr as long as this rank has no run directory.
void leave_traces(const Error& error,
                  const runtime::RankWays& ways,
                  const Directory* run,
                  const Context& context);

}  // namespace elixir::tools
