// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The original's simple_search. Public parameters in definition order are split by count into ten
// groups (the first ones take the remainder). There are six cache blocks of the largest group's
// size. All state is in one place: the host (the original's default), unless only the device has
// room.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "search/problem.h"

namespace elixir::search {
namespace {

constexpr std::size_t kGroups = 10;
constexpr std::int64_t kBlocks = 6;  // 0.6 of the groups, rounded up

Layout ten_groups(const std::vector<Item>& items) {
  std::vector<Item> open;
  for (const Item& item : items) {
    if (!item.tied) open.push_back(item);
  }
  Layout layout;
  const std::size_t groups = std::min(kGroups, open.size());
  std::size_t next = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = open.size() / groups + (g < open.size() % groups ? 1 : 0);
    std::vector<std::vector<Item>> group;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i, ++next) {
      group.push_back({open[next]});
      bytes += open[next].bytes;
    }
    for (Members& chunk : pack(group, bytes)) layout.push_back(std::move(chunk));
  }
  return layout;
}

}  // namespace

std::optional<Evaluated> simple_plan(const Problem& problem) {
  std::vector<std::int32_t> order(problem.program().parameters.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<Item> items = items_of(problem.program(), order);
  Layout layout = ten_groups(items);
  for (Members& chunk : private_chunks(items)) layout.push_back(std::move(chunk));
  std::optional<Evaluated> result;
  for (const plan::Home home : {plan::Home::kHost, plan::Home::kDevice}) {
    plan::Plan plan = problem.blank_plan("simple");
    plan.chunks = chunks_of(layout, problem.program(), plan);
    for (plan::Chunk& chunk : plan.chunks) {
      chunk.parameter_home = chunk.gradient_home = chunk.optimizer_home = home;
    }
    problem.set_cache(plan, kBlocks);
    Evaluated candidate =
        problem.evaluate(std::move(plan),
                         fmt::format("simple: {} chunks on the {}",
                                     layout.size(),
                                     home == plan::Home::kHost ? "host" : "device"));
    if (problem.fits(candidate)) return candidate;
    if (!result) result = std::move(candidate);
  }
  return result;
}

}  // namespace elixir::search
