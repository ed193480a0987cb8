// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The state behind a Model. Only capture's own files may use it.

#include <memory>
#include <optional>
#include <vector>

#include "capture/archive/archive.h"
#include "capture/archive/loaded_module.h"
#include "capture/capture.h"

namespace elixir::capture {

struct Model::State {
  std::shared_ptr<Archive> archive;
  LoadedModule loaded;  ///< on meta; never run
  std::optional<std::vector<at::Tensor>> traced;
};

struct ModelAccess {
  static const Model::State& state(const Model& model) { return *model.state_; }
};

}  // namespace elixir::capture
