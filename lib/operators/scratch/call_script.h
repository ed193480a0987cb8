// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The requests of one operator call to the CUDA allocator, step by step: its outputs, and scratch
// memory that no shape shows, in the order of LibTorch 2.11's requests. Where LibTorch's sources
// fix the sizes, rules give them (`rules/rules.h`). Where only a library knows them, a measured
// table does (`workspace_table.h`). Calls that are known to take none have their outputs alone
// (`evidence/known_without_scratch.h`). Otherwise the script is an estimate and is marked as one.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "operators/scratch/cuda_traits.h"
#include "operators/scratch/workspace_table.h"
#include "program/program.h"

namespace elixir::operators {

struct ScriptStep {
  enum class Kind : std::uint8_t {
    kOutput,      ///< allocates `storage`
    kTemporary,   ///< allocates `bytes`, as number `temporary` of this call
    kRelease,     ///< frees number `temporary`
    kPersistent,  ///< allocates `bytes` that the process keeps
  };
  Kind kind = Kind::kOutput;
  std::int64_t bytes = 0;  ///< as requested
  program::StorageId storage = -1;
  int temporary = -1;
  bool once = false;  ///< in the first step only; persistent ones always are
};

/// Where a script comes from, most certain first. kExact is earned: by a rule after LibTorch's
/// source, or by recorded calls. A call that nobody has looked at is kModelled, also where its
/// script has outputs alone.
enum class ScriptSource : std::uint8_t { kExact, kMeasured, kModelled };

struct CallScript {
  std::vector<ScriptStep> steps;
  ScriptSource source = ScriptSource::kModelled;
};

/// Whether only a library (cuDNN) knows the scratch memory of the call.
[[nodiscard]] bool is_library_call(const program::Operator& op);
/// Whether the table has the script of the library call `op`.
[[nodiscard]] bool is_recorded_call(const program::Operator& op, const WorkspaceTable& table);
/// The names of library calls, sorted.
[[nodiscard]] std::vector<std::string_view> library_calls();

/// What the rule of an operator rests on at best. Each rule says which calls it is not sure of.
enum class ScriptRuleKind : std::uint8_t {
  kOfSource,     ///< LibTorch's source
  kNeedsRecord,  ///< some calls are exact only where calls of their form were recorded
  kMeasured,     ///< formulas that fit measurements
  kEstimate,     ///< never recorded
};
/// nullopt without a rule.
[[nodiscard]] std::optional<ScriptRuleKind> rule_of(std::string_view name);
/// The names of all operators with a rule, sorted.
[[nodiscard]] std::vector<std::string_view> ruled_operators();

/// One script per operator, in order. A script allocates every storage with allocated_at == id and
/// bytes > 0 exactly once, and releases every temporary. Persistent workspaces (cuBLAS has one for
/// the forward thread and one for autograd's thread) belong to the call that creates them.
[[nodiscard]] std::vector<CallScript> call_scripts(const program::Program& program,
                                                   const CudaTraits& traits,
                                                   const WorkspaceTable& table);

/// The sum of all persistent workspaces, each rounded up as the allocator does.
[[nodiscard]] std::int64_t persistent_bytes(const program::Program& program,
                                            const CudaTraits& traits);

/// Scripts for a device whose kernels use no scratch memory, or an unknown amount: outputs only.
[[nodiscard]] std::vector<CallScript> plain_scripts(const program::Program& program);

}  // namespace elixir::operators
