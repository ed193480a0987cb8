// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/certainty.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/allocation_unit.h"
#include "core/units.h"
#include "memory/step/optimizer_update.h"
#include "operators/convolution/convolution.h"
#include "operators/scratch/cuda_traits.h"
#include "operators/scratch/evidence/call_form.h"
#include "program/workspace_answers.h"

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

/// Its name among operators.
constexpr const char* kTorchUpdate = "torch.optim's update";

/// The largest error of a workspace that cuDNN named without a GPU (docs/accuracy.md, "What cuDNN
/// says").
constexpr std::int64_t kLargestErrorOfAnswer = 7'864'560;

/// Operators of one label, by name.
class LabelledCalls {
 public:
  program::LabelledOperator& add(const std::string& name, std::int64_t known_bytes) {
    program::LabelledOperator& op = operators_[name];
    op.name = name;
    ++op.calls;
    op.known_bytes = std::max(op.known_bytes, known_bytes);
    return op;
  }

  void add(const program::Operator& call,
           const program::Program& program,
           const operators::CallScript& script) {
    program::LabelledOperator& op = add(operators::full_name(call), most_temporary_bytes(script));
    if (call.module < 0) return;
    const std::string& path = program.modules[static_cast<std::size_t>(call.module)];
    const auto [at, is_first] = position_.try_emplace({op.name, call.module}, op.modules.size());
    if (is_first) op.modules.push_back({.path = path, .calls = 0});
    ++op.modules[at->second].calls;
  }

  [[nodiscard]] std::vector<program::LabelledOperator> take() {
    std::vector<program::LabelledOperator> list;
    for (auto& entry : operators_) list.push_back(std::move(entry.second));
    std::stable_sort(
        list.begin(), list.end(), [](const auto& a, const auto& b) { return a.calls > b.calls; });
    return list;
  }

 private:
  std::map<std::string, program::LabelledOperator> operators_;
  std::map<std::pair<std::string, std::int32_t>, std::size_t> position_;  // among its modules
};

/// What the calls that are not exact rest on.
struct Grounds {
  operators::ConvolutionPasses passes;  ///< of all convolutions
  std::int64_t calls_of_table = 0;      ///< with a workspace that the table has
  bool only_answers = true;             ///< modelled calls are as cuDNN answered, whole
  LabelledCalls not_recorded;           ///< modelled for no other reason
  std::int64_t calls_not_recorded = 0;
};

std::string calls_text(std::int64_t count) {
  return count == 1 ? "one call" : fmt::format("{} calls", format_count(count));
}

std::vector<std::string> reasons_of(const program::Program& program,
                                    const operators::WorkspaceTable& table,
                                    bool is_recorded,
                                    Grounds& grounds) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> reasons;
  if (!is_recorded) {
    reasons.push_back(fmt::format("memory on {} follows LibTorch's sources: recorded on sm_90 only",
                                  program.target.text()));
  } else if (grounds.calls_not_recorded > 0) {
    reasons.push_back(fmt::format("{}: no such call was recorded, and the peak may be more",
                                  program::list_of(grounds.not_recorded.take(), kMostNamed)));
  }
  if (grounds.calls_of_table > 0 && !table.is_of_predicted_libraries()) {
    reasons.push_back(
        fmt::format("the workspaces of {} were recorded with {}, and the prediction is for {}",
                    calls_text(grounds.calls_of_table),
                    table.libraries,
                    operators::kPredictedLibraries));
  }
  const operators::ConvolutionPasses& passes = grounds.passes;
  if (passes.by_library > 0) {
    const bool measured = program.workspaces->measured;
    const std::int64_t asked = passes.by_library + passes.unanswered;
    std::string text = fmt::format("convolutions: {} answered {} of {} {}",
                                   program.workspaces->source,
                                   format_count(passes.by_library),
                                   format_count(asked),
                                   asked == 1 ? "pass" : "passes");
    if (asked > passes.by_library) text += "; the rest are estimates";
    if (!measured) {
      text += is_recorded ? fmt::format(
                                "; of its answers for other nets 89 % were right to the byte, and "
                                "none was off by more than {}",
                                format_bytes(kLargestErrorOfAnswer))
                          : std::string("; its answers were not compared with a GPU of this kind");
    }
    reasons.push_back(std::move(text));
  }
  if (passes.guessed() > 0) {
    reasons.push_back(fmt::format(
        "convolutions: {} guessed; nets whose convolutions were guessed were off by up "
        "to 9.6 % allocated and 13.5 % reserved, one by 18 %{}",
        passes.guessed() == 1 ? std::string("one pass is")
                              : fmt::format("{} passes are", format_count(passes.guessed())),
        is_recorded ? "" : "; they were not compared with a GPU of this kind"));
  }
  return reasons;
}

}  // namespace

program::Certainty certainty_of(const program::Program& program,
                                const std::vector<operators::CallScript>& scripts,
                                program::OptimizerUse use,
                                const operators::WorkspaceTable& table,
                                const Timeline& timeline) {
  program::Certainty certainty;
  const bool is_recorded = operators::cuda_traits(program.target).recorded;
  LabelledCalls measured;
  LabelledCalls modelled;
  Grounds grounds;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const program::Operator& op = program.operators[i];
    const operators::ConvolutionPasses passes = operators::passes_of(op, program, table);
    grounds.passes.add(passes);
    const bool is_of_table = passes.by_table > 0 || operators::is_recorded_call(op, table);
    if (is_of_table) ++grounds.calls_of_table;
    switch (scripts[i].source) {
      case ScriptSource::kExact:
        ++certainty.exact_calls;
        break;
      case ScriptSource::kMeasured:
        ++certainty.measured_calls;
        measured.add(op, program, scripts[i]);
        break;
      case ScriptSource::kModelled: {
        ++certainty.modelled_calls;
        modelled.add(op, program, scripts[i]);
        const bool has_passes = passes.by_library + passes.guessed() > 0;
        const bool is_answered = passes.by_library > 0 && passes.guessed() == 0 &&
                                 (!is_of_table || table.is_of_predicted_libraries());
        grounds.only_answers = grounds.only_answers && is_answered;
        if (has_passes || is_of_table) break;
        ++grounds.calls_not_recorded;
        grounds.not_recorded.add(op, program, scripts[i]);
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
      const std::int64_t known_bytes =
          std::max(most_temporary_bytes(update.clipping), most_temporary_bytes(update.update));
      modelled.add(kTorchUpdate, known_bytes);
      grounds.not_recorded.add(kTorchUpdate, known_bytes);
      ++grounds.calls_not_recorded;
      grounds.only_answers = false;
    }
  }
  certainty.measured_operators = measured.take();
  certainty.modelled_operators = modelled.take();
  for (const LiveScratch& live : timeline.scratch_at_peak) {
    if (live.kept) continue;
    const bool is_guess =
        live.made_at < 0
            ? guesses_update
            : scripts[static_cast<std::size_t>(live.made_at)].source == ScriptSource::kModelled;
    if (is_guess) certainty.modelled_bytes_at_peak += live.bytes;
  }
  if (certainty.modelled_calls == 0) {
    certainty.may_be_off = {.allocated_bytes = 0, .reserved_bytes = 0};
  } else if (is_recorded && grounds.only_answers) {
    // Calls run one after the other, and a call takes one workspace at a time.
    certainty.may_be_off.allocated_bytes = rounded_allocation(kLargestErrorOfAnswer);
  }
  if (certainty.basis() != program::Basis::kExact) {
    certainty.reasons = reasons_of(program, table, is_recorded, grounds);
  }
  return certainty;
}

}  // namespace elixir::memory
