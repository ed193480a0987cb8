// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Collectives of a build without NCCL.
#include "core/error.h"
#include "measure/collectives/collectives.h"

namespace elixir::measure {
namespace {

constexpr const char* kNoCollectives = "this build of Elixir has no NCCL (meson option nccl)";

}  // namespace

struct CollectiveGroup::State {};

std::optional<std::string> collectives_unavailable(int /*gpus*/) {
  return kNoCollectives;
}
CollectiveGroup::CollectiveGroup(int /*gpus*/, std::size_t /*most_bytes*/) {
  throw Error(ErrorCode::kMissingFeature, kNoCollectives);
}
CollectiveGroup::~CollectiveGroup() = default;
std::vector<double> CollectiveGroup::seconds(CollectiveOperation /*operation*/,
                                             std::size_t /*bytes*/,
                                             int /*calls*/,
                                             const Sampling& /*sampling*/) {
  throw Error(ErrorCode::kMissingFeature, kNoCollectives);
}
std::unique_ptr<ContendingWork> make_collective_work(int /*gpus*/, std::size_t /*bytes*/) {
  throw Error(ErrorCode::kMissingFeature, kNoCollectives);
}

}  // namespace elixir::measure
