// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which modules and operators hold and allocate device memory: the bytes of one training step by
// category, module and operator. Sizes are counted as in timeline.h (eager lifetimes, rounded up to
// 512 bytes). Every byte is counted once: the modules' shares of the peak add up to the peak.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/step/timeline.h"
#include "program/document.h"

namespace elixir::memory {

/// Stands in place of a module's path for memory without a known module. At the peak this includes
/// memory beyond the program's tensors (workspaces of libraries).
inline constexpr std::string_view kUnattributed = "(unattributed)";

/// Figures of one module alone, without the modules inside it (unless stated otherwise).
struct ModuleShare {
  std::string path;             ///< as in named_modules(); "": the model; kUnattributed comes last
  std::int64_t parameters = 0;  ///< elements; a tied parameter belongs to its first name's module
  /// Its part of the bytes at the peak: its parameters with gradients and optimizer state, its
  /// buffers, and what its own calls allocated.
  std::int64_t at_peak_bytes = 0;
  std::int64_t activations_bytes = 0;  ///< activations that its own calls allocate in a step
  /// The most that is allocated in total while a call of this module, or of a module inside it,
  /// runs. 0 if the module has no call.
  std::int64_t peak_inside_bytes = 0;
};

/// The calls of one operator in one module and phase.
struct OperatorShare {
  std::string module;  ///< path; "": the model; kUnattributed comes last
  std::string name;    ///< "aten::addmm"
  program::Phase phase = program::Phase::kForward;
  std::vector<std::int64_t> call_bytes;  ///< bytes that each call allocates, in program order
  std::int64_t at_peak_bytes = 0;        ///< the part of it that is alive at the peak
  std::int64_t activations_bytes = 0;    ///< the part of it that is kept for backward
  std::int64_t workspaces_bytes = 0;     ///< scratch memory that it has at the peak
  [[nodiscard]] std::int64_t calls() const { return static_cast<std::int64_t>(call_bytes.size()); }
  [[nodiscard]] std::int64_t allocated_bytes() const;
};

/// A profile reduced to its memory. Small and easy to compare; does not hold the program.
struct Attribution {
  std::string model_path, fingerprint, target, optimizer;
  std::string
      workspaces;  ///< who named the workspaces of convolutions: "cuDNN 9.19.0 on an NVIDIA H200"
  std::vector<std::string> inputs;  ///< "input_ids int64[8,128]"
  program::MemorySummary memory;    ///< copied from the document
  std::int64_t parameters = 0;      ///< elements
  std::int64_t operator_calls = 0;
  std::int64_t peak_bytes = 0;  ///< of the timeline; the summary's peak may include more
  ByCategory at_peak_bytes{};
  ByCategory made_bytes{};               ///< all storages of a step, alive together or not
  std::string peak_operator;             ///< name; empty without operators
  std::string peak_module;               ///< path
  std::vector<ModuleShare> modules;      ///< by path
  std::vector<OperatorShare> operators;  ///< by module, name, phase
};

[[nodiscard]] Attribution attribute(const program::Profile& profile);

}  // namespace elixir::memory
