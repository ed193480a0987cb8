// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// While a model is loaded: LibTorch folds constants as it compiles the model's code, which runs
// operators. Those that are not allowed are refused there too.

#include "capture/record/dispatch/fallbacks.h"

namespace elixir::capture {

class LoadScope {
  c10::impl::IncludeDispatchKeyGuard include_{kChooseKey};
};

}  // namespace elixir::capture
