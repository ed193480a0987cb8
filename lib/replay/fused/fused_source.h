// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The CUDA source of a fused operator's kernel, and how it is launched. Without sums, threads take
// chunks of 8 columns of any row. With sums, 32 to 1,024 threads take a row, each several chunks,
// and add up in a fixed tree. Who adds what depends on the number of columns alone: alignment
// decides only how a chunk is read, so it changes no bit.
//
// There is no CUDA in here: a machine without a GPU writes and compiles the same source.

#include <cstdint>
#include <string>
#include <vector>

#include "replay/fused/fused_job.h"

namespace elixir::replay {

inline constexpr const char* kFusedKernelName = "elixir_fused";
inline constexpr std::int64_t kChunkColumns = 8;

struct FusedLaunch {
  std::int64_t blocks = 1;
  std::int64_t threads_per_block = 1;
  /// The kernel's one argument, a struct of 64-bit numbers.
  std::vector<std::int64_t> argument;
};

/// What of a job its kernel is compiled for.
struct FusedForm {
  std::int64_t threads_per_row = 0;  ///< 0: without sums
  std::int64_t chunks_per_thread = 1;
  bool wide = false;  ///< counts rows and chunks in 64 bits
  /// Equal keys have equal sources.
  std::string key;
};
[[nodiscard]] FusedForm fused_form(const FusedJob& job);

/// Throws c10::Error for steps that do not fit the tensors.
[[nodiscard]] std::string fused_source(const FusedJob& job, const FusedForm& form);
[[nodiscard]] FusedLaunch fused_launch(const FusedJob& job, const FusedForm& form);

/// Options of NVRTC beside the architecture: no fast-math, and no multiply-add that the steps do
/// not name.
[[nodiscard]] std::vector<const char*> fused_compile_options();

}  // namespace elixir::replay
