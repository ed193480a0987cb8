// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Code that LibTorch would run while it loads an archive: `__setstate__` methods, defaults of
// arguments and class constants that are more than literals, and objects of C++ classes. Loading
// comes before any look at a graph, so the text is looked at first.

#include <memory>
#include <string>

#include "capture/archive/archive.h"

namespace elixir::capture {

/// kUnsupportedModel where loading would run code of the archive.
void refuse_code_that_runs_on_loading(const std::shared_ptr<Archive>& archive);

/// The same for the text of one record. Text that is no TorchScript passes: loading refuses it.
void check_source(const std::string& record, const std::string& text);

}  // namespace elixir::capture
