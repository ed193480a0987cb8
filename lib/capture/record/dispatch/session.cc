// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/session.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace elixir::capture {
namespace {

thread_local Session* current_session = nullptr;

/// Operators whose result, or the size of it, is a value of the step's data.
constexpr std::array<std::string_view, 15> kReadsData{"aten::_local_scalar_dense",
                                                      "aten::nonzero",
                                                      "aten::nonzero_numpy",
                                                      "aten::masked_select",
                                                      "aten::_unique",
                                                      "aten::_unique2",
                                                      "aten::unique_dim",
                                                      "aten::unique_consecutive",
                                                      "aten::unique_dim_consecutive",
                                                      "aten::repeat_interleave",
                                                      "aten::bincount",
                                                      "aten::is_nonzero",
                                                      "aten::item",
                                                      "aten::equal",
                                                      "aten::argwhere"};

}  // namespace

Session::Session(const program::Target& wanted, CaptureOn on, const torch::jit::Module& root)
    : target(wanted),
      device(device_of(wanted)),
      where(on),
      modules(root),
      recorder(wanted, on),
      previous_(current_session),
      leaves_(wanted) {
  current_session = this;
  // Tells the inside of an autograd node from what the engine does between nodes.
  node_callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
            if (Session* session = Session::current()) ++session->nodes_running_;
            return nullptr;
          },
          [](const at::RecordFunction&, at::ObserverContext*) {
            if (Session* session = Session::current()) --session->nodes_running_;
          })
          .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

Session::~Session() {
  at::removeCallback(node_callback_);
  current_session = previous_;
}

Session* Session::current() {
  return current_session;
}

const Session::OperatorFacts& Session::facts_of(const c10::OperatorHandle& op) {
  const auto [found, fresh] = facts_.try_emplace(op.operator_name());
  OperatorFacts& facts = found->second;
  if (!fresh) return facts;
  const std::string& plain = op.operator_name().name;
  facts.name = c10::toString(op.operator_name());
  facts.choices = choices_for(target, facts.name);
  facts.geometry = find_geometry(facts.name);
  for (const std::string_view name : kReadsData) facts.reads_data |= name == plain;
  if (facts.name == "aten::repeat_interleave.self_int") facts.reads_data = false;
  facts.factory_with_size = plain == "aten::arange" || plain == "aten::linspace" ||
                            plain == "aten::eye" || plain == "aten::tril_indices" ||
                            plain == "aten::triu_indices" || plain == "aten::range";
  facts.copies = plain == "aten::_to_copy" || plain == "aten::copy_";
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "dtype") facts.dtype_argument = i;
  }
  return facts;
}

void Session::begin_backward() {
  phase = program::Phase::kBackward;
  first_of_backward_ = static_cast<program::OperatorId>(recorder.operators.size());
}

bool Session::made_in_backward(const at::Tensor& tensor) const {
  return phase == program::Phase::kBackward && recorder.allocated_at(tensor) >= first_of_backward_;
}

void Session::keep_failure(const Error& error) {
  if (!failure) failure = error;
}

void Session::keep_message(const std::string& text) {
  if (message.empty()) message = text;
}

void Session::refuse_data_dependent(const std::string& op) {
  ErrorInfo info;
  info.code = ErrorCode::kDataDependent;
  info.message = "the step depends on a value of its data: " + op + " in " + place();
  info.help.emplace_back(
      "a program is exact for shapes alone; compute the value outside the model, or replace it by "
      "a constant");
  for (const MissingKernel& kernel : missing) {
    info.notes.push_back("until there, no kernel for " + kernel.op + " in " + kernel.place);
  }
  Error error(std::move(info));
  keep_failure(error);
  throw error;
}

void Session::hint(const std::string& text) {
  const auto found = std::find_if(
      hints_.begin(), hints_.end(), [&](const Hint& hint) { return hint.text == text; });
  if (found == hints_.end()) {
    hints_.push_back({text, place(), 1});
  } else {
    ++found->calls;
  }
}

std::vector<std::string> Session::hints() const {
  std::vector<std::string> texts;
  texts.reserve(hints_.size());
  for (const Hint& hint : hints_) {
    std::string text = hint.text + " (" + hint.place;
    if (hint.calls > 1) text += ", first of " + std::to_string(hint.calls) + " calls";
    texts.push_back(text + ")");
  }
  return texts;
}

std::string Session::place() const {
  const std::int32_t module =
      phase == program::Phase::kForward ? modules.current() : last_backward_module_;
  if (module < 0) return "an unknown module";
  const std::string& path = modules.paths()[static_cast<std::size_t>(module)];
  return path.empty() ? "the root module" : "module '" + path + "'";
}

std::int32_t Session::module_of_call() {
  if (phase == program::Phase::kForward) return modules.current();
  const std::shared_ptr<torch::autograd::Node> node = torch::autograd::get_current_node();
  if (node == nullptr) return last_backward_module_;
  if (const auto* accumulate = dynamic_cast<torch::autograd::AccumulateGrad*>(node.get())) {
    const auto name = parameter_names.find(accumulate->variable.unsafeGetTensorImpl());
    return name == parameter_names.end() ? -1 : modules.owner_of(name->second);
  }
  last_backward_module_ = modules.made_in(node->sequence_nr());
  return last_backward_module_;
}

std::string Session::enclosing() const {
  if (!in_flight.empty()) return *in_flight.back();
  if (phase == program::Phase::kForward) return {};
  if (nodes_running_ == 0) return kEngine;
  const std::shared_ptr<torch::autograd::Node> node = torch::autograd::get_current_node();
  return node == nullptr ? std::string() : node->name();
}

}  // namespace elixir::capture
