// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compiles CUDA at run time, with the NVRTC that lies beside LibTorch. It is loaded when it is
// first needed, and needs no GPU.

#include <string>
#include <vector>

namespace elixir::replay {

/// Machine code (cubin) of `source` for compute capability `sm` / 10. Throws kMissingFeature where
/// there is no NVRTC, and kInternal for a source that does not compile, with NVRTC's log.
[[nodiscard]] std::vector<char> compile_cuda(const std::string& source,
                                             int sm,
                                             std::vector<const char*> options);

}  // namespace elixir::replay
