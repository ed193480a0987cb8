// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/end_process.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/sanitizer.h"

namespace elixir::tools {
namespace {

bool ends_slowly() {
  // CUDA's runtime loads the driver when it is first called.
  return kUnderAddressSanitizer || ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
}

}  // namespace

void end_process(int code) {
  if (ends_slowly()) std::exit(code);
  end_process_at_once(code);
}

void end_process_at_once(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace elixir::tools
