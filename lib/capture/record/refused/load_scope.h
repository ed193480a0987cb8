// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Active while a model is loaded. LibTorch folds constants when it compiles the model's code, which
// runs operators. Operators that are not allowed are refused there too.

#include "capture/record/dispatch/fallbacks.h"

namespace elixir::capture {

class LoadScope {
  c10::impl::IncludeDispatchKeyGuard include_{kChooseKey};
};

}  // namespace elixir::capture
