// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/error.h"
#include "runtime/ranks/nccl.h"

namespace elixir::runtime {

std::unique_ptr<Nccl> connect_nccl(Communicator& /*host*/,
                                   const plan::RankGrid& /*grid*/,
                                   bool /*sums_alone*/) {
  throw Error(ErrorCode::kMissingFeature, "this build of Elixir has no NCCL")
      .help("build it beside a LibTorch for CUDA, which brings NCCL")
      .help("on a machine whose GPUs reach each other's memory, --reduce ordered needs none");
}

}  // namespace elixir::runtime
