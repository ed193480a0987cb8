// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Every tensor that a program names, for edits that give storages other names or geometry.

#include "program/program.h"

namespace elixir::program {

/// Calls `visit(TensorRef&)` for the tensors of all calls, executed or not, of parameters,
/// gradients, buffers and inputs, and for the loss.
template <class Visit>
void for_each_reference(Program& program, Visit visit) {
  for (Operator& op : program.operators) {
    for_each_tensor(op.arguments, visit);
    for_each_tensor(op.outputs, visit);
  }
  for (Parameter& parameter : program.parameters) {
    visit(parameter.tensor);
    if (parameter.gradient) visit(*parameter.gradient);
  }
  for (Buffer& buffer : program.buffers) visit(buffer.tensor);
  for (Input& input : program.inputs) visit(input.tensor);
  if (program.loss.storage >= 0) visit(program.loss);
}

}  // namespace elixir::program
