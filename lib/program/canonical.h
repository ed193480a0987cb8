// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Canonical text of a program's parts, with one line per operator. The same program gives the same
// text, wherever and however it was captured. The fingerprint hashes this text; tests and error
// messages compare it line by line.

#include <string>

#include "program/program.h"

namespace elixir::program {

/// "s12.1:float32[2,128|128,1+64]w": storage.version, dtype, sizes|strides, offset unless 0, w when
/// wrapped.
void append_canonical(std::string& out, const TensorRef& tensor);
void append_canonical(std::string& out, const Argument& argument);
/// "F aten::addmm(…) -> …": phase, name, overload, arguments, outputs; " repeats 7" for a copy.
[[nodiscard]] std::string canonical_text(const Operator& op);

}  // namespace elixir::program
