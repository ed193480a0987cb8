// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/attribution.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/allocation_unit.h"
#include "memory/analysis/module_memory.h"
#include "memory/step/optimizer_state.h"
#include "program/workspace_answers.h"

namespace elixir::memory {

using program::Category;
using program::Operator;
using program::Program;
using program::Storage;

namespace {

std::size_t position(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

/// The path of the enclosing module: "a.b.c" -> "a.b", "a" -> "".
std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

class Attributor {
 public:
  explicit Attributor(const program::Profile& profile)
      : profile_(profile),
        program_(profile.program),
        timeline_(make_timeline(profile.program, profile.memory.optimizer_bytes)) {
    for (const std::string& path : program_.modules) modules_[path].path = path;
    modules_[""].path = "";
    modules_[std::string(kUnattributed)].path = kUnattributed;
  }

  Attribution run() {
    Attribution result;
    describe(result);
    find_owners();
    add_parameters();
    add_storages(result);
    add_workspaces();
    add_peaks_inside();
    finish(result);
    return result;
  }

 private:
  using OperatorKey = std::tuple<std::string, std::string, program::Phase>;

  void describe(Attribution& result) const {
    result.model_path = profile_.model_path;
    result.fingerprint = fingerprint(program_);
    result.target = program_.target.text();
    result.optimizer = profile_.optimizer_use().text();
    const program::WorkspaceAnswers* answers = program_.workspaces.get();
    result.workspaces = answers == nullptr ? "nobody was asked" : answers->source;
    for (const program::Input& input : program_.inputs) {
      result.inputs.push_back(fmt::format("{} {}[{}]",
                                          input.name,
                                          name_of(input.tensor.dtype),
                                          fmt::join(input.tensor.sizes, ",")));
    }
    result.memory = profile_.memory;
    result.parameters = program_.parameter_count();
    result.operator_calls = static_cast<std::int64_t>(program_.operators.size());
    result.peak_bytes = timeline_.peak_bytes;
    result.at_peak_bytes = timeline_.peak_by_category_bytes;
    if (timeline_.peak_operator >= 0) {
      const Operator& op = program_.operators[position(timeline_.peak_operator)];
      result.peak_operator = op.name;
      result.peak_module = module_of(op);
    }
  }

  [[nodiscard]] std::string module_of(const Operator& op) const {
    return op.module < 0 ? std::string(kUnattributed) : program_.modules[position(op.module)];
  }

  /// The innermost module of a dotted name: "h.0.attn.weight" -> "h.0.attn".
  [[nodiscard]] std::string module_around(std::string_view name) const {
    std::string_view path = parent_of(name);
    for (int level = 0; level < kDeepestModule && !path.empty(); ++level, path = parent_of(path)) {
      if (modules_.count(std::string(path)) > 0) return std::string(path);
    }
    return "";
  }

  OperatorShare& operator_share(const Operator& op) {
    return operators_[{module_of(op), op.name, op.phase}];
  }

  /// Finds the modules that own storages, whichever call allocates them.
  void find_owners() {
    owners_.resize(program_.storages.size());
    has_owner_.resize(program_.storages.size());
    const auto own = [this](program::StorageId id, std::string_view name) {
      if (has_owner_[position(id)]) return;
      has_owner_[position(id)] = true;
      owners_[position(id)] = module_around(name);
    };
    for (const program::Parameter& parameter : program_.parameters) {
      own(parameter.tensor.storage, parameter.name);
    }
    for (const program::Buffer& buffer : program_.buffers) own(buffer.tensor.storage, buffer.name);
    for (const program::Parameter& parameter : program_.parameters) {
      if (parameter.gradient) own(parameter.gradient->storage, parameter.name);
    }
  }

  [[nodiscard]] std::string owner_of(const Storage& storage) const {
    if (has_owner_[position(storage.id)]) return owners_[position(storage.id)];
    if (storage.allocated_at >= 0) {
      return module_of(program_.operators[position(storage.allocated_at)]);
    }
    return "";  // inputs and constants belong to the model
  }

  ModuleShare& module_of(const program::Parameter& parameter) {
    return modules_[owners_[position(parameter.tensor.storage)]];
  }

  void add_parameters() {
    for (const program::Parameter& parameter : program_.parameters) {
      module_of(parameter).parameters += parameter.tensor.numel();
    }
    std::int64_t rest_bytes = profile_.memory.optimizer_bytes;
    for (const OptimizerTensor& tensor : optimizer_state(program_, profile_.optimizer_use())) {
      const std::int64_t bytes = rounded_allocation(tensor.bytes());
      module_of(program_.parameters[position(tensor.parameter)]).at_peak_bytes += bytes;
      rest_bytes -= bytes;
    }
    modules_[std::string(kUnattributed)].at_peak_bytes += rest_bytes;
  }

  void add_storages(Attribution& result) {
    std::vector<std::int64_t> bytes_of_call(program_.operators.size());
    result.made_bytes[static_cast<std::size_t>(Category::kOptimizerState)] =
        profile_.memory.optimizer_bytes;
    for (const Storage& storage : program_.storages) {
      if (storage.on_host) continue;
      const std::int64_t bytes = rounded_allocation(storage.bytes);
      result.made_bytes[static_cast<std::size_t>(storage.category)] += bytes;
      if (storage.allocated_at < 0) continue;
      bytes_of_call[position(storage.allocated_at)] += bytes;
      if (storage.category != Category::kActivation) continue;
      const Operator& op = program_.operators[position(storage.allocated_at)];
      modules_[module_of(op)].activations_bytes += bytes;
      operator_share(op).activations_bytes += bytes;
    }
    for (const Operator& op : program_.operators) {
      operator_share(op).call_bytes.push_back(bytes_of_call[position(op.id)]);
    }
    for (const LiveStorage& live : timeline_.live_at_peak) {
      const Storage& storage = program_.storages[position(live.storage)];
      modules_[owner_of(storage)].at_peak_bytes += live.bytes;
      if (storage.allocated_at < 0) continue;
      operator_share(program_.operators[position(storage.allocated_at)]).at_peak_bytes +=
          live.bytes;
    }
  }

  void add_workspaces() {
    for (const program::Workspace& workspace : profile_.memory.workspaces_at_peak) {
      if (!workspace.made_at) continue;
      operator_share(program_.operators[position(*workspace.made_at)]).workspaces_bytes +=
          workspace.bytes;
    }
  }

  void add_peaks_inside() {
    std::map<std::string, std::int64_t> own_peaks;
    for (const Operator& op : program_.operators) {
      std::int64_t& peak = own_peaks[module_of(op)];
      peak = std::max(peak, timeline_.allocated_bytes[position(op.id)]);
    }
    for (const auto& [path, bytes] : own_peaks) {
      std::string_view around = path;
      for (int level = 0; level < kDeepestModule; ++level) {
        const auto found = modules_.find(std::string(around));
        if (found != modules_.end()) {
          found->second.peak_inside_bytes = std::max(found->second.peak_inside_bytes, bytes);
        }
        if (around.empty() || path == kUnattributed) break;
        around = parent_of(around);
      }
    }
  }

  void finish(Attribution& result) {
    ModuleShare unattributed = modules_[std::string(kUnattributed)];
    unattributed.at_peak_bytes += profile_.memory.peak_allocated_bytes - timeline_.peak_bytes;
    modules_.erase(std::string(kUnattributed));
    for (auto& entry : modules_) result.modules.push_back(std::move(entry.second));
    const bool called = unattributed.peak_inside_bytes > 0;
    if (called || unattributed.at_peak_bytes != 0) result.modules.push_back(unattributed);
    for (auto& entry : operators_) {
      std::tie(entry.second.module, entry.second.name, entry.second.phase) = entry.first;
      result.operators.push_back(std::move(entry.second));
    }
  }

  const program::Profile& profile_;
  const Program& program_;
  Timeline timeline_;
  std::map<std::string, ModuleShare> modules_;
  std::map<OperatorKey, OperatorShare> operators_;
  std::vector<std::string> owners_;  // by storage
  std::vector<bool> has_owner_;
};

}  // namespace

std::int64_t OperatorShare::allocated_bytes() const {
  return std::accumulate(call_bytes.begin(), call_bytes.end(), std::int64_t{0});
}

Attribution attribute(const program::Profile& profile) {
  return Attributor(profile).run();
}

}  // namespace elixir::memory
