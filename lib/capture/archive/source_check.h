// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds code that LibTorch would run while it loads an archive: `__setstate__` methods, non-literal
// defaults of arguments and class constants, and objects of C++ classes. Loading comes before any
// check of a graph, so the text must be checked first.

#include <memory>
#include <string>

#include "capture/archive/archive.h"

namespace elixir::capture {

/// Throws kUnsupportedModel if loading would run code of the archive.
void refuse_code_that_runs_on_loading(const std::shared_ptr<Archive>& archive);

/// Same for the text of one record. Text that is not TorchScript passes, because loading refuses
/// it.
void check_source(const std::string& record, const std::string& text);

}  // namespace elixir::capture
