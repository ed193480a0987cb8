// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/session.h"

#include <utility>

#include "capture/record/arguments/values.h"

namespace elixir::capture {
namespace {

thread_local Session* current_session = nullptr;

}  // namespace

Session::Session(const program::Target& target, CaptureOn where, const torch::jit::Module& root)
    : target_(target),
      device_(device_of(target)),
      where_(where),
      operators_(target),
      position_(root),
      recorder_(target, where),
      previous_(current_session),
      leaves_(target) {
  current_session = this;
}

Session::~Session() {
  current_session = previous_;
}

Session* Session::current() {
  return current_session;
}

void Session::begin_backward() {
  position_.begin_backward();
  first_of_backward_ = static_cast<program::OperatorId>(recorder_.operators.size());
}

bool Session::made_in_backward(const at::Tensor& tensor) const {
  return position_.phase() == program::Phase::kBackward &&
         recorder_.allocated_at(tensor) >= first_of_backward_;
}

void Session::refuse(const Error& error) {
  findings_.keep_failure(error);
  throw error;
}

void Session::refuse_data_dependent(const std::string& op, const std::string& help) {
  ErrorInfo info;
  info.code = ErrorCode::kDataDependent;
  info.message = "the step depends on a value of its data: " + op + " in " + position_.place();
  if (op == "aten::_local_scalar_dense") {
    info.notes.emplace_back(op +
                            " is what .item(), int(), float() or a condition on a tensor calls");
  }
  if (help.empty()) {
    info.help.emplace_back(
        "a program is exact for shapes alone; compute the value outside the model, or replace it "
        "by "
        "a constant");
    info.help.emplace_back(
        "mixture of experts: use torch.nn.functional.grouped_mm; transformers: "
        "experts_implementation=\"grouped_mm\"; examples/export_hf.py does this");
  } else {
    info.help.push_back(help);
  }
  for (const MissingKernel& kernel : findings_.missing()) {
    info.notes.push_back("until there, no kernel for " + kernel.op + " in " + kernel.place);
  }
  refuse(Error(std::move(info)));
}

}  // namespace elixir::capture
