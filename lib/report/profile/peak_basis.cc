// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/peak_basis.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::report {

namespace {

/// "modelled: "; nothing where there is no label. `best` is what the figure is at best.
std::string label(const program::MemorySummary& memory, program::Basis best) {
  if (!memory.certainty) return "";
  return fmt::format("{}: ", name_of(std::max(best, memory.certainty->basis())));
}

}  // namespace

std::string basis_of_allocated(const memory::TrainingStep& step) {
  if (!step.with_scratch) return "exact for tensors; without workspaces of libraries";
  return step.memory.certainty ? text_of(*step.memory.certainty) : "not said how certain";
}

std::string basis_of_reserved(const program::MemorySummary& memory) {
  if (!memory.peak_reserved_bytes) return "not computed";
  return label(memory, program::Basis::kExact) + "the simulated allocator's segments";
}

std::string basis_of_process(const program::MemorySummary& memory,
                             const program::Target& target,
                             const memory::TrainingStep& step) {
  if (step.with_scratch && !step.process_was_measured) {
    return fmt::format("not known: no process was measured on {}", target.text());
  }
  if (step.with_scratch && !step.nccl_bytes) {
    return fmt::format("not known: what NCCL takes has not been measured with {} GPUs", step.gpus);
  }
  if (!memory.process_peak_bytes) return "not computed";
  const std::string text = label(memory, program::Basis::kMeasured) +
                           "reserved, and context and libraries as in ten runs";
  if (step.gpus == 1) return text;
  return fmt::format(
      "{}, {} of it NCCL's with {} GPUs", text, format_bytes(*step.nccl_bytes), step.gpus);
}

}  // namespace elixir::report
