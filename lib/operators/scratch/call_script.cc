// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/call_script.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "operators/convolution/convolution.h"
#include "operators/operator_key.h"
#include "operators/own.h"
#include "operators/scratch/evidence/known_without_scratch.h"
#include "operators/scratch/rules/rules.h"
#include "operators/scratch/script_builder.h"
#include "program/workspace_answers.h"

namespace elixir::operators {
namespace {

using program::Operator;
using program::Program;
using program::StorageId;
using program::TensorRef;

using Rules = std::unordered_map<std::string_view, const ScriptRule*>;

const Rules& rules() {
  static const Rules all = [] {
    Rules rules;
    for (const auto* topic : {&kAttentionScripts,
                              &kConversionScripts,
                              &kEmbeddingScripts,
                              &kIndexingScripts,
                              &kLossScripts,
                              &kNormScripts,
                              &kPoolingScripts,
                              &kProductScripts,
                              &kRecurrentScripts,
                              &kReductionScripts}) {
      for (const ScriptRule& rule : *topic) rules.emplace(rule.name, &rule);
    }
    return rules;
  }();
  return all;
}

/// By operator: the storages on the device that it allocates, by id.
std::vector<std::vector<StorageId>> storages_by_call(const Program& program) {
  std::vector<std::vector<StorageId>> allocated(program.operators.size());
  for (const program::Storage& storage : program.storages) {
    if (storage.on_host || storage.bytes == 0 || storage.allocated_at < 0) continue;
    allocated.at(static_cast<std::size_t>(storage.allocated_at)).push_back(storage.id);
  }
  return allocated;
}

/// The storages that a call allocates, in the order of its outputs. Storages that no output names
/// come last.
std::vector<StorageId> fresh_storages(const Operator& op, std::vector<StorageId> allocated) {
  std::vector<StorageId> fresh;
  const auto take = [&](StorageId id) {
    const auto found = std::find(allocated.begin(), allocated.end(), id);
    if (found == allocated.end()) return;
    fresh.push_back(id);
    allocated.erase(found);
  };
  program::for_each_tensor(op.outputs, [&](const TensorRef& output) { take(output.storage); });
  fresh.insert(fresh.end(), allocated.begin(), allocated.end());
  return fresh;
}

/// Writes the table's script, if the table has one for a call with that many outputs.
bool write_recorded(const WorkspaceTable& table, ScriptBuilder& script) {
  const auto found = table.calls.find(operator_key(script.op()));
  if (found == table.calls.end()) return false;
  std::vector<int> temporaries;
  for (const RecordedStep& step : found->second) {
    switch (step.kind) {
      case RecordedStep::Kind::kOutput:
        script.output(static_cast<std::size_t>(step.position));
        break;
      case RecordedStep::Kind::kTemporary:
        temporaries.push_back(script.temporary(step.bytes));
        break;
      case RecordedStep::Kind::kRelease:
        script.release(temporaries.at(static_cast<std::size_t>(step.position)));
        break;
    }
  }
  return true;
}

/// What is known of cuDNN's workspaces: from the shipped table, then from the program's own
/// answers. Another version of a library may take other workspaces.
AnswerConvolution answers_of(const Program& program, const WorkspaceTable& table) {
  return [&program, &table](const ConvolutionQuery& query) -> std::optional<ConvolutionWorkspace> {
    const std::string text = text_of(query);
    if (const auto found = table.queries.find(text); found != table.queries.end()) {
      return ConvolutionWorkspace{.bytes = found->second,
                                  .measured = table.is_of_predicted_libraries()};
    }
    if (program.workspaces == nullptr) return std::nullopt;
    const auto found = program.workspaces->bytes.find(text);
    if (found == program.workspaces->bytes.end()) return std::nullopt;
    return ConvolutionWorkspace{.bytes = found->second, .measured = program.workspaces->measured};
  };
}

/// Whether the call makes or writes anything on the device. A view does not.
bool touches_device(const Operator& op, const Program& program, const CallScript& script) {
  return (op.writes || !script.steps.empty()) && !is_on_host_alone(op, program);
}

/// The certainty of a call without a rule: its script is its outputs alone. Exact only if somebody
/// has looked, in LibTorch's source or in recorded runs on a device of this kind.
ScriptSource source_without_rule(const Operator& op,
                                 const Program& program,
                                 const CudaTraits& traits) {
  if (is_own(op.name)) return ScriptSource::kExact;
  switch (known_without_scratch(op, program)) {
    case WithoutScratch::kBySource:
      return ScriptSource::kExact;
    case WithoutScratch::kByEvidence:
      return traits.recorded ? ScriptSource::kExact : ScriptSource::kModelled;
    case WithoutScratch::kNotKnown:
      break;
  }
  return ScriptSource::kModelled;
}

/// Catches out-of-range accesses of a rule, because a document may contain a call that LibTorch
/// would refuse.
void write_by_rule(void (*rule)(ScriptBuilder&), ScriptBuilder& script) {
  try {
    rule(script);
  } catch (const std::out_of_range&) {
    throw Error(ErrorCode::kUnsupportedModel,
                "operator {} ({}) has tensors with too few dimensions",
                script.op().id,
                script.op().name);
  }
}

/// Memory that the first call of its kind allocates and the process keeps: workspaces of the
/// library handles, at the first matrix product of a thread, and the generators of cuDNN's dropout.
class ProcessWorkspaces {
 public:
  explicit ProcessWorkspaces(const CudaTraits& traits) : traits_(traits) {}

  void before(const Operator& op, ScriptBuilder& script) {
    before_product(op, script);
    before_recurrent_layers(op, script);
  }

 private:
  void before_product(const Operator& op, ScriptBuilder& script) {
    const bool with_bias = op.name == "aten::addmm" || op.name == "aten::linear";
    // In bf16, CUTLASS multiplies groups.
    const auto* left = op.name == "aten::_grouped_mm" ? script.tensor("self") : nullptr;
    const bool grouped = left != nullptr && left->dtype != program::DType::kBFloat16;
    const bool product = with_bias || grouped || op.name == "aten::mm" || op.name == "aten::bmm" ||
                         op.name == "aten::baddbmm" || is_aligned_product(op.name);
    if (!product) return;
    const auto thread = static_cast<std::size_t>(traits_.backward_has_thread &&
                                                 op.phase == program::Phase::kBackward);
    if (!std::exchange(cublas_[thread], true)) {
      script.outputs();
      script.persistent(traits_.cublas_workspace_bytes);
    }
    if (with_bias && thread == 0 && !std::exchange(cublaslt_, true)) {
      script.outputs();
      script.persistent(traits_.cublaslt_workspace_bytes);
    }
  }

  /// A seed from the GPU's generator, then one generator for each thread of the GPU.
  void before_recurrent_layers(const Operator& op, ScriptBuilder& script) {
    constexpr std::int64_t kSeedBytes = 8;
    if (op.name != "aten::_cudnn_rnn") return;
    if (script.number("dropout", 0) == 0 || !script.flag("train")) return;
    if (std::exchange(dropout_state_, true)) return;
    script.once(kSeedBytes);
    script.persistent(traits_.cudnn_dropout_state_bytes());
  }

  const CudaTraits& traits_;
  std::array<bool, 2> cublas_{};
  bool cublaslt_ = false;
  bool dropout_state_ = false;
};

}  // namespace

std::vector<std::string_view> library_calls() {
  return {"aten::_convolution",
          "aten::_thnn_fused_lstm_cell",
          "aten::convolution",
          "aten::convolution_backward",
          "aten::cudnn_convolution",
          "aten::cudnn_convolution_transpose"};
}

bool is_library_call(const Operator& op) {
  static const std::vector<std::string_view> names = library_calls();
  return std::find(names.begin(), names.end(), op.name) != names.end();
}

bool is_recorded_call(const Operator& op, const WorkspaceTable& table) {
  return is_library_call(op) && table.calls.count(operator_key(op)) > 0;
}

std::optional<ScriptRuleKind> rule_of(std::string_view name) {
  const auto found = rules().find(name);
  if (found == rules().end()) return std::nullopt;
  return found->second->kind;
}

std::vector<std::string_view> ruled_operators() {
  std::vector<std::string_view> names;
  for (const auto& rule : rules()) names.push_back(rule.first);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<CallScript> plain_scripts(const Program& program) {
  auto allocated = storages_by_call(program);
  std::vector<CallScript> scripts(program.operators.size());
  for (const Operator& op : program.operators) {
    const auto at = static_cast<std::size_t>(op.id);
    for (const StorageId id : fresh_storages(op, std::move(allocated[at]))) {
      scripts[at].steps.push_back({.kind = ScriptStep::Kind::kOutput,
                                   .bytes = program.storages[static_cast<std::size_t>(id)].bytes,
                                   .storage = id});
    }
  }
  return scripts;
}

std::int64_t persistent_bytes(const Program& program, const CudaTraits& traits) {
  ProcessWorkspaces process(traits);
  std::int64_t bytes = 0;
  for (const Operator& op : program.operators) {
    ScriptBuilder builder(op, {}, program, traits);
    process.before(op, builder);
    for (const ScriptStep& step : builder.finish().steps) {
      if (step.kind == ScriptStep::Kind::kPersistent) bytes += rounded_allocation(step.bytes);
    }
  }
  return bytes;
}

std::vector<CallScript> call_scripts(const Program& program,
                                     const CudaTraits& traits,
                                     const WorkspaceTable& table) {
  auto allocated = storages_by_call(program);
  ProcessWorkspaces process(traits);
  const AnswerConvolution answer = answers_of(program, table);
  std::vector<CallScript> scripts;
  scripts.reserve(program.operators.size());
  for (const Operator& op : program.operators) {
    ScriptBuilder builder(op,
                          fresh_storages(op, std::move(allocated[static_cast<std::size_t>(op.id)])),
                          program,
                          traits);
    const bool library = is_library_call(op);
    auto rule = rules().find(op.name);
    if (rule != rules().end() && is_on_host_alone(op, program)) rule = rules().end();
    const bool measured = library && write_recorded(table, builder);
    process.before(op, builder);
    if (library && !measured) {
      if (is_convolution(op)) {
        write_convolution(builder, answer);
      } else {
        estimate_library_call(builder);
      }
    } else if (!library && rule != rules().end()) {
      write_by_rule(rule->second->write, builder);
    }
    CallScript script = builder.finish();
    if (measured) {
      script.source =
          table.is_of_predicted_libraries() ? ScriptSource::kMeasured : ScriptSource::kModelled;
    }
    if (!library && rule == rules().end()) script.source = source_without_rule(op, program, traits);
    if (!traits.recorded && touches_device(op, program, script)) {
      script.source = ScriptSource::kModelled;
    }
    scripts.push_back(std::move(script));
  }
  return scripts;
}

}  // namespace elixir::operators
