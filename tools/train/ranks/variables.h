// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether torchrun or SLURM has started this process as one rank of several, by their environment
// variables. Else elixir-train starts the ranks itself (processes.h).

#include <functional>
#include <optional>
#include <string>

#include "runtime/ranks/rendezvous.h"

namespace elixir::tools {

/// nullptr: not set.
using Variables = std::function<const char*(const std::string& name)>;

/// nullopt: nothing has. Throws kRanksContradict when the variables do not make sense together.
[[nodiscard]] std::optional<runtime::StartedRank> started_rank(const Variables& variables);

/// torchrun sets OMP_NUM_THREADS to 1 when nobody has. Whether this rank has that one thread
/// although there are more cores for it.
[[nodiscard]] bool has_too_few_threads(const Variables& variables, int cores_of_rank);

/// The first host of a SLURM list: "gpu[08-11,14],login" begins with gpu08. Empty when it cannot be
/// read.
[[nodiscard]] std::string first_host(const std::string& list);

/// What CUDA_VISIBLE_DEVICES has to be, so that local rank `local_rank` of `local_world` sees its
/// GPU alone. `visible` is its value now; nullptr: not set. A launcher that has given each rank one
/// GPU has chosen already. Empty when there are too few: then it sees none.
[[nodiscard]] std::string gpu_of_rank(const char* visible, int local_rank, int local_world);

}  // namespace elixir::tools
