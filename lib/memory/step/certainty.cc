// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/certainty.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "memory/step/optimizer_update.h"
#include "operators/scratch/call_form.h"

namespace elixir::memory {
namespace {

using operators::ScriptSource;
using operators::ScriptStep;

/// The most temporary memory that a call holds at once. What the process keeps is of a known size.
std::int64_t most_temporary_bytes(const operators::CallScript& script) {
  std::map<int, std::int64_t> held;  // by number
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const ScriptStep& step : script.steps) {
    if (step.kind == ScriptStep::Kind::kTemporary) {
      now += held[step.temporary] = step.bytes;
      most = std::max(most, now);
    } else if (step.kind == ScriptStep::Kind::kRelease) {
      now -= held[step.temporary];
    }
  }
  return most;
}

/// Its name among modelled operators.
constexpr const char* kTorchUpdate = "torch.optim's update";

}  // namespace

program::Certainty certainty_of(const program::Program& program,
                                const std::vector<operators::CallScript>& scripts,
                                program::OptimizerUse use,
                                const Timeline& timeline) {
  program::Certainty certainty;
  std::map<std::string, program::ModelledOperator> modelled;  // by name
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    switch (scripts[i].source) {
      case ScriptSource::kExact:
        ++certainty.exact_calls;
        break;
      case ScriptSource::kMeasured:
        ++certainty.measured_calls;
        break;
      case ScriptSource::kModelled: {
        ++certainty.modelled_calls;
        const std::string name = operators::full_name(program.operators[i]);
        program::ModelledOperator& op = modelled[name];
        op.name = name;
        ++op.calls;
        op.known_bytes = std::max(op.known_bytes, most_temporary_bytes(scripts[i]));
        break;
      }
    }
  }
  bool guesses_update = false;
  if (use.is_torch()) {
    const OptimizerUpdate update = optimizer_update(program, use);
    guesses_update = update.clipping.source == ScriptSource::kModelled ||
                     update.update.source == ScriptSource::kModelled;
    ++(guesses_update ? certainty.modelled_calls : certainty.exact_calls);
    if (guesses_update) {
      modelled[kTorchUpdate] = {.name = kTorchUpdate,
                                .calls = 1,
                                .known_bytes = std::max(most_temporary_bytes(update.clipping),
                                                        most_temporary_bytes(update.update))};
    }
  }
  for (auto& entry : modelled) certainty.modelled_operators.push_back(std::move(entry.second));
  std::stable_sort(certainty.modelled_operators.begin(),
                   certainty.modelled_operators.end(),
                   [](const auto& a, const auto& b) { return a.calls > b.calls; });
  for (const LiveScratch& live : timeline.scratch_at_peak) {
    if (live.kept) continue;
    const bool is_guess =
        live.made_at < 0
            ? guesses_update
            : scripts[static_cast<std::size_t>(live.made_at)].source == ScriptSource::kModelled;
    if (is_guess) certainty.modelled_bytes_at_peak += live.bytes;
  }
  return certainty;
}

}  // namespace elixir::memory
