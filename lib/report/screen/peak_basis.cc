// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/peak_basis.h"

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::report {

std::string basis_of_allocated(const memory::TrainingStep& step) {
  if (!step.with_scratch) return "exact for tensors; without workspaces of libraries";
  if (!step.recorded) return "modelled; recorded on sm_90 only";
  return step.memory.certainty ? text_of(*step.memory.certainty) : "not said how certain";
}

std::string basis_of_process(const program::MemorySummary& memory,
                             const memory::TrainingStep& step) {
  if (step.with_scratch && !step.nccl_bytes) {
    return fmt::format("not known: what NCCL takes has not been measured with {} GPUs", step.gpus);
  }
  if (!memory.process_peak_bytes) return "not computed";
  if (step.gpus == 1) return "reserved, and context and libraries as measured";
  return fmt::format(
      "reserved, and context and libraries as measured, {} of it NCCL's with {} GPUs",
      format_bytes(*step.nccl_bytes),
      step.gpus);
}

}  // namespace elixir::report
