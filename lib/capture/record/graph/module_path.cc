// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/module_path.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include <ATen/SequenceNumber.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/operator.h>

namespace elixir::capture {
namespace {

thread_local ModuleTracker* tracker = nullptr;

const c10::Symbol kEnter = c10::Symbol::fromQualString("elixir::enter_module");
const c10::Symbol kLeave = c10::Symbol::fromQualString("elixir::leave_module");

// Conservative, so that no pass moves or drops them. Without a tracker they do nothing.
const torch::jit::RegisterOperators kMarkers({
    torch::jit::Operator(
        "elixir::enter_module(str path) -> ()",
        [](torch::jit::Stack& stack) {
          const std::string path = torch::jit::pop(stack).toStringRef();
          if (tracker != nullptr) tracker->enter(path);
        },
        c10::AliasAnalysisKind::CONSERVATIVE),
    torch::jit::Operator(
        "elixir::leave_module() -> ()",
        [](torch::jit::Stack&) {
          if (tracker != nullptr) tracker->leave();
        },
        c10::AliasAnalysisKind::CONSERVATIVE),
});

/// "transformer.h.0" for an object read from `self` through attributes; nullopt for other objects.
std::optional<std::string> path_from_self(const torch::jit::Value* object,
                                          const torch::jit::Graph& graph) {
  std::string path;
  while (object->node()->kind() == c10::prim::GetAttr) {
    const std::string& name = object->node()->s(c10::attr::name);
    if (!path.empty()) path.insert(0, 1, '.');
    path.insert(0, name);
    object = object->node()->input(0);
  }
  if (graph.inputs().empty() || object != graph.inputs()[0]) return std::nullopt;
  return path;
}

void mark_calls(torch::jit::Block& block, torch::jit::Graph& graph) {
  std::vector<torch::jit::Node*> nodes(block.nodes().begin(), block.nodes().end());
  for (torch::jit::Node* node : nodes) {
    for (torch::jit::Block* inner : node->blocks()) mark_calls(*inner, graph);
    if (node->kind() != c10::prim::CallMethod) continue;
    const auto path = path_from_self(node->input(0), graph);
    if (!path || path->empty()) continue;  // another method of the same module
    const torch::jit::WithInsertPoint before(node);
    torch::jit::Node* enter = graph.create(kEnter, {graph.insertConstant(*path)}, 0);
    enter->insertBefore(node);
    torch::jit::Node* leave = graph.create(kLeave, c10::ArrayRef<torch::jit::Value*>{}, 0);
    leave->insertAfter(node);
  }
}

}  // namespace

void insert_module_markers(const torch::jit::Module& module) {
  std::unordered_set<const torch::jit::Graph*> done;
  for (const torch::jit::Module& part : module.modules()) {
    for (const torch::jit::Method& method : part.get_methods()) {
      const std::shared_ptr<torch::jit::Graph> graph = method.graph();
      if (done.insert(graph.get()).second) mark_calls(*graph->block(), *graph);
    }
  }
}

ModuleTracker::ModuleTracker(const torch::jit::Module& root) : previous_(tracker) {
  std::unordered_map<const void*, std::int32_t> objects;
  for (const auto& part : root.named_modules()) {
    const auto next = static_cast<std::int32_t>(paths_.size());
    const auto [found, fresh] = objects.try_emplace(part.value._ivalue().get(), next);
    if (fresh) paths_.push_back(part.name);
    positions_.emplace(part.name, found->second);
  }
  note();
  tracker = this;
}

ModuleTracker::~ModuleTracker() {
  tracker = previous_;
}

void ModuleTracker::note() {
  const std::uint64_t sequence = at::sequence_number::peek();
  if (!history_.empty() && history_.back().first_sequence == sequence) {
    history_.back().module = current();
  } else {
    history_.push_back({sequence, current()});
  }
}

void ModuleTracker::enter(const std::string& relative_path) {
  const std::string& parent = paths_[static_cast<std::size_t>(current())];
  const std::string path = parent.empty() ? relative_path : parent + "." + relative_path;
  const auto found = positions_.find(path);
  stack_.push_back(found == positions_.end() ? current() : found->second);
  note();
}

void ModuleTracker::leave() {
  if (stack_.size() > 1) stack_.pop_back();
  note();
}

std::int32_t ModuleTracker::made_in(std::uint64_t sequence) const {
  const auto after = std::upper_bound(
      history_.begin(), history_.end(), sequence, [](std::uint64_t value, const Entered& entry) {
        return value < entry.first_sequence;
      });
  return after == history_.begin() ? -1 : std::prev(after)->module;
}

std::int32_t ModuleTracker::owner_of(const std::string& tensor_name) const {
  const std::size_t dot = tensor_name.rfind('.');
  const auto found = positions_.find(dot == std::string::npos ? "" : tensor_name.substr(0, dot));
  return found == positions_.end() ? -1 : found->second;
}

}  // namespace elixir::capture
