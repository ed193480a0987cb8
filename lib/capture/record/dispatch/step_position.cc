// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/step_position.h"

#include <cstddef>
#include <memory>

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include "capture/decompositions/decompositions.h"
#include "capture/record/dispatch/session.h"

namespace elixir::capture {

StepPosition::StepPosition(const torch::jit::Module& root) : modules_(root) {
  // Tells the inside of an autograd node from what the engine does between nodes.
  node_callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
            if (Session* session = Session::current()) ++session->position().nodes_running_;
            return nullptr;
          },
          [](const at::RecordFunction&, at::ObserverContext*) {
            if (Session* session = Session::current()) --session->position().nodes_running_;
          })
          .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

StepPosition::~StepPosition() {
  at::removeCallback(node_callback_);
}

void StepPosition::name_parameter(const at::Tensor& parameter, const std::string& name) {
  parameter_names_.emplace(parameter.unsafeGetTensorImpl(), name);
}

std::string StepPosition::place() const {
  const std::int32_t module =
      phase_ == program::Phase::kForward ? modules_.current() : last_backward_module_;
  if (module < 0) return "an unknown module";
  const std::string& path = modules_.paths()[static_cast<std::size_t>(module)];
  return path.empty() ? "the root module" : "module '" + path + "'";
}

std::int32_t StepPosition::module_of_call() {
  if (phase_ == program::Phase::kForward) return modules_.current();
  const std::shared_ptr<torch::autograd::Node> node = torch::autograd::get_current_node();
  if (node == nullptr) return last_backward_module_;
  if (const auto* accumulate = dynamic_cast<torch::autograd::AccumulateGrad*>(node.get())) {
    const auto name = parameter_names_.find(accumulate->variable.unsafeGetTensorImpl());
    return name == parameter_names_.end() ? -1 : modules_.owner_of(name->second);
  }
  last_backward_module_ = modules_.made_in(node->sequence_nr());
  return last_backward_module_;
}

std::string StepPosition::enclosing() const {
  if (!in_flight_.empty()) return *in_flight_.back();
  if (phase_ == program::Phase::kForward) return {};
  if (nodes_running_ == 0) return kEngine;
  const std::shared_ptr<torch::autograd::Node> node = torch::autograd::get_current_node();
  return node == nullptr ? std::string() : node->name();
}

StepPosition::CallInFlight::CallInFlight(StepPosition& position, const std::string& name)
    : position_(position) {
  position_.in_flight_.push_back(&name);
}

StepPosition::CallInFlight::~CallInFlight() {
  position_.in_flight_.pop_back();
}

}  // namespace elixir::capture
