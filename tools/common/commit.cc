// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A separate file, so that a commit rebuilds only this file.
#include "tools/common/commit.h"

#include "commit_tag.h"

namespace elixir::tools {

const char* commit() {
  return ELIXIR_COMMIT;
}

}  // namespace elixir::tools
