// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/end_process.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define ELIXIR_LOOKS_FOR_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ELIXIR_LOOKS_FOR_LEAKS 1
#endif
#endif

namespace elixir::tools {
namespace {

/// AddressSanitizer looks for leaks when a process ends.
bool ends_slowly() {
#ifdef ELIXIR_LOOKS_FOR_LEAKS
  return true;
#else
  // CUDA's runtime loads the driver when it is first called.
  return ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
#endif
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
