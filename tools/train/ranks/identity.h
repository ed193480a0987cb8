// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What all ranks of a run must have in common. They read plan, model, weights and data for
// themselves, each on its host, so that nothing else would notice if those were not the same.

#include <string>
#include <utility>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "tools/train/input_digests.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"

namespace elixir::tools {

/// Names and values: a flag and what was given, or a kind of input and its fingerprint.
using RankIdentity = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] RankIdentity identity_of(const TrainOptions& options,
                                       const TrainInputs& inputs,
                                       const std::vector<InputDigest>& digests);

/// Every rank must call it. Throws kRanksDiffer, the same on all, which names each rank that
/// differs from rank 0, and in what.
void compare_identities(const RankIdentity& own, const runtime::Ranks& ranks);

}  // namespace elixir::tools
