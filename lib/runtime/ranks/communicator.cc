// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/communicator.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace elixir::runtime {

bool on_all_ranks(Communicator& ranks, bool own) {
  std::vector<char> all(static_cast<std::size_t>(ranks.world()));
  const char mine = own ? 1 : 0;
  ranks.all_gather(all.data(), &mine, 1);
  return std::all_of(all.begin(), all.end(), [](char it) { return it != 0; });
}

std::optional<std::string> lost_within(const Communicator& ranks,
                                       std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kBetweenLooks{100};
  for (auto waited = std::chrono::milliseconds::zero(); waited < patience;
       waited += kBetweenLooks) {
    if (auto lost = ranks.lost()) return lost;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return std::nullopt;
}

}  // namespace elixir::runtime
