// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Who holds and who makes device memory: the bytes of one training step by category, module and
// operator. Sizes are those of timeline.h (eager lifetimes, rounded up to 512 bytes), and every
// share is counted once: what modules have of the peak adds up to the peak.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/step/timeline.h"
#include "program/document.h"

namespace elixir::memory {

/// In place of a module's path, for what no module can be found for, and for what the peak has
/// beyond the program's tensors (workspaces of libraries).
inline constexpr std::string_view kUnattributed = "(unattributed)";

/// What belongs to one module itself, not to the modules inside it (unless said).
struct ModuleShare {
  std::string path;             ///< as in named_modules(); "" is the model, kUnattributed is last
  std::int64_t parameters = 0;  ///< elements; a tied parameter is its first name's module's
  /// Of the bytes at the peak: its parameters with their gradients and optimizer state, its
  /// buffers, and what its own calls made.
  std::int64_t at_peak_bytes = 0;
  std::int64_t activations_bytes = 0;  ///< activations that its own calls make in a step
  /// The most that is allocated, by whomever, while a call of this module or of one inside it runs;
  /// 0 without such a call.
  std::int64_t peak_inside_bytes = 0;
};

/// The calls of one operator in one module and phase.
struct OperatorShare {
  std::string module;  ///< path; "" is the model, kUnattributed comes last
  std::string name;    ///< "aten::addmm"
  program::Phase phase = program::Phase::kForward;
  std::vector<std::int64_t> call_bytes;  ///< bytes that each call allocates, in program order
  std::int64_t at_peak_bytes = 0;        ///< of all that, what is alive at the peak
  std::int64_t activations_bytes = 0;    ///< of all that, what is kept for backward
  [[nodiscard]] std::int64_t calls() const { return static_cast<std::int64_t>(call_bytes.size()); }
  [[nodiscard]] std::int64_t allocated_bytes() const;
};

/// A profile reduced to its memory: small, comparable, without the program.
struct Attribution {
  std::string model_path, fingerprint, target, optimizer;
  std::vector<std::string> inputs;  ///< "input_ids int64[8,128]"
  program::MemorySummary memory;    ///< as the document has it
  std::int64_t parameters = 0;      ///< elements
  std::int64_t operator_calls = 0;
  std::int64_t peak_bytes = 0;  ///< of the timeline; the summary's may have more in it
  ByCategory at_peak_bytes{};
  ByCategory made_bytes{};               ///< every storage of a step, alive together or not
  std::string peak_operator;             ///< name; empty without operators
  std::string peak_module;               ///< path
  std::vector<ModuleShare> modules;      ///< by path
  std::vector<OperatorShare> operators;  ///< by module, name, phase
};

[[nodiscard]] Attribution attribute(const program::Profile& profile);

}  // namespace elixir::memory
