// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The process that calls operators. A wrong call can break a CUDA context for good or end the
// process, so the test starts workers one after another: each continues behind the call that ended
// the one before. A worker appends to a file, one JSON value per line: where it is before each part
// of its work, and the evidence of the part after it.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/scratch/evidence.h"

namespace elixir::tests {

/// From the environment.
struct Settings {
  std::string device = "cuda";            ///< ELIXIR_SCRATCH_DEVICE: cuda, cpu
  std::int64_t calls_per_operator = 250;  ///< ELIXIR_SCRATCH_CALLS
  std::uint64_t seed = 1;                 ///< ELIXIR_SCRATCH_SEED
  std::string only;                       ///< ELIXIR_SCRATCH_ONLY: part of an operator's name
  /// ELIXIR_SCRATCH_PART=2/8: every eighth operator from the third on, so that several processes
  /// share the work. Their documents are parts of one.
  std::size_t part = 0, parts = 1;
  /// ELIXIR_SCRATCH_SECONDS: operators whose turn has not come by then are not called. 0: no limit.
  std::int64_t seconds = 0;

  static Settings from_environment();
};

/// The worker's `main`. Arguments: the file, the first operator, the first draw of it, and the time
/// of the clock (seconds since 1970) at which no operator begins any more; 0: none.
int run_worker(const std::vector<std::string>& arguments);

struct AllEvidence {
  std::vector<Evidence> operators;  ///< sorted by name
  std::string machine;              ///< GPU and libraries
  int workers = 0;
};

/// Runs workers until every operator had its turn. `executable` must call run_worker() when its
/// first argument is "--worker".
[[nodiscard]] AllEvidence collect(const std::string& executable, const std::string& file);

}  // namespace elixir::tests
