// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What one operator call asks of the CUDA allocator, step by step: its outputs and the scratch
// memory that no shape shows, in the order in which LibTorch 2.11 asks for them. Rules where its
// sources fix the sizes (`rules.h`), a measured table where only a library knows them
// (`workspace_table.h`), and an estimate, named so, where neither does.

#include <cstdint>
#include <vector>

#include "operators/scratch/cuda_traits.h"
#include "operators/scratch/workspace_table.h"
#include "program/program.h"

namespace elixir::operators {

struct ScriptStep {
  enum class Kind : std::uint8_t {
    kOutput,      ///< allocates `storage`
    kTemporary,   ///< allocates `bytes`, the `temporary`-th of this call
    kRelease,     ///< frees the `temporary`-th
    kPersistent,  ///< allocates `bytes` that the process keeps
  };
  Kind kind = Kind::kOutput;
  std::int64_t bytes = 0;  ///< as asked for
  program::StorageId storage = -1;
  int temporary = -1;
  bool once = false;  ///< in the first step alone; what is persistent always is
};

/// Where a script comes from, from the surest to the least sure.
enum class ScriptSource : std::uint8_t { kExact, kMeasured, kModelled };

struct CallScript {
  std::vector<ScriptStep> steps;
  ScriptSource source = ScriptSource::kExact;
};

/// Whether only a library (cuDNN) knows what scratch memory the call takes.
[[nodiscard]] bool is_library_call(const program::Operator& op);

/// One script for each operator, in order; every storage with allocated_at == id and bytes > 0 is
/// allocated in it exactly once, every temporary released. Persistent workspaces (cuBLAS's, one for
/// the thread of the forward pass and one for autograd's) are at the call that makes them.
[[nodiscard]] std::vector<CallScript> call_scripts(const program::Program& program,
                                                   const CudaTraits& traits,
                                                   const WorkspaceTable& table);

/// Scripts of a device whose kernels take no scratch memory, or none that is known: outputs alone.
[[nodiscard]] std::vector<CallScript> plain_scripts(const program::Program& program);

}  // namespace elixir::operators
