// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Apart from the rest, so that a commit rebuilds this file alone.
#include "tools/common/commit.h"

#include "commit_tag.h"

namespace elixir::tools {

const char* commit() {
  return ELIXIR_COMMIT;
}

}  // namespace elixir::tools
