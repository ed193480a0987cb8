// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: what a model may not do, refused before it happens.
//
// What a model's code may call. Its author is not trusted: nothing that a capture runs may reach
// files, processes, other machines or classes outside TorchScript. LibTorch's kernels for tensors
// are trusted.
//
// The rule is by what an operator takes. Only a text or an object can name a file, a library or a
// process, so an operator that takes one is refused unless it is on the list of those that use it
// for something else ("mean", "reflect", a format string). Namespaces other than aten and prim are
// refused as a whole.

#include <string>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/api/module.h>

#include "core/error.h"

namespace elixir::capture {

/// Whether a model may call the operator, and the replay of a document too.
[[nodiscard]] bool is_allowed(const c10::FunctionSchema& schema);

/// The kUnsupportedModel error for an operator in a function or module.
[[nodiscard]] Error refused_operator(const std::string& op, const std::string& place);

/// The same for an operator that does not compute with real data, or a view beyond its storage.
[[nodiscard]] Error refused_on_real_data(const std::string& op, const std::string& place);
[[nodiscard]] Error refused_view(const std::string& op, const std::string& place);

/// Checks all code of a module. The caller must do this before any of it runs. Throws
/// kUnsupportedModel for the first call that is not allowed.
void refuse_what_is_not_allowed(const torch::jit::Module& module);

}  // namespace elixir::capture
