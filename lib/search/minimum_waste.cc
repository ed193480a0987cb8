// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The original's minimum_waste_search. Parameters are in definition order. The chunk size is the
// one that wastes least. There are as many blocks as the parameters of one module need. All state
// is in one place: the device when it fits, otherwise the host.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/units.h"
#include "search/original_rules.h"
#include "search/problem.h"

namespace elixir::search {
namespace {

/// The largest number of chunks that hold the direct parameters of one module.
std::int64_t blocks_for_modules(const program::Program& program, const Layout& layout) {
  std::map<std::string, std::set<std::size_t>> chunks_of_module;
  for (std::size_t c = 0; c < layout.size(); ++c) {
    for (const Item& item : layout[c].items) {
      const std::string& name = program.parameters[item.parameter].name;
      const std::size_t dot = name.rfind('.');
      chunks_of_module[dot == std::string::npos ? "" : name.substr(0, dot)].insert(c);
    }
  }
  std::size_t most = 0;
  for (const auto& [module, chunks] : chunks_of_module) most = std::max(most, chunks.size());
  return static_cast<std::int64_t>(most);
}

}  // namespace

std::optional<Evaluated> minimum_waste_plan(const Problem& problem) {
  const program::Program& program = problem.program();
  std::vector<std::int32_t> order(program.parameters.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<Item> items = items_of(program, order);
  const std::vector<std::vector<Item>> groups = singles(items);
  std::vector<std::int64_t> sizes;
  std::int64_t element_bytes = 4;
  for (const std::vector<Item>& group : groups) {
    element_bytes =
        program::element_bytes(program.parameters[group.front().parameter].tensor.dtype);
    sizes.push_back(group.front().bytes / element_bytes);
  }
  Layout layout;
  std::int64_t chunk_bytes = 0;
  if (!sizes.empty()) {
    chunk_bytes = original::least_waste_chunk_size(sizes, element_bytes) * element_bytes;
    layout = pack(groups, chunk_bytes);
    // All blocks have one size, and so have the original's chunks.
    for (Members& chunk : layout) chunk.bytes = round_up(chunk_bytes, plan::kAlignmentBytes);
  }
  const std::int64_t blocks = blocks_for_modules(program, layout);
  for (Members& chunk : private_chunks(items)) layout.push_back(std::move(chunk));
  std::optional<Evaluated> result;
  for (const plan::Home home : {plan::Home::kDevice, plan::Home::kHost}) {
    plan::Plan plan = problem.blank_plan("minimum-waste");
    plan.chunks = chunks_of(layout, program, plan);
    for (plan::Chunk& chunk : plan.chunks) {
      chunk.parameter_home = chunk.gradient_home = chunk.optimizer_home = home;
    }
    problem.set_cache(plan, blocks);
    result = problem.evaluate(std::move(plan),
                              fmt::format("minimum-waste: chunk {}, all on the {}",
                                          format_bytes(chunk_bytes),
                                          home == plan::Home::kHost ? "host" : "device"));
    if (problem.fits(*result)) break;
  }
  return result;
}

}  // namespace elixir::search
