// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/live_tensors.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "operators/scratch/script_builder.h"
#include "program/names/labels.h"

namespace elixir::report {
namespace {

using program::Category;

class Collector {
 public:
  /// `kind` distinguishes tensors of one geometry: the operator that made them, if any.
  void add(std::int64_t bytes,
           Layer layer,
           const std::string& tensor,
           const std::string& kind,
           const std::string& origin) {
    const auto [found, fresh] =
        positions_.try_emplace(std::make_tuple(layer, tensor, kind), entries_.size());
    if (fresh) entries_.push_back({.layer = layer, .tensor = tensor, .origin = origin});
    LiveTensors& entry = entries_[found->second];
    entry.bytes = std::max(entry.bytes, bytes);
    entry.together_bytes += bytes;
    ++entry.count;
  }

  [[nodiscard]] std::vector<LiveTensors> take() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.together_bytes > b.together_bytes;
    });
    return std::move(entries_);
  }

 private:
  std::map<std::tuple<Layer, std::string, std::string>, std::size_t> positions_;
  std::vector<LiveTensors> entries_;
};

std::vector<memory::LiveStorage> by_id(std::vector<memory::LiveStorage> storages) {
  std::sort(storages.begin(), storages.end(), [](const auto& a, const auto& b) {
    return a.storage < b.storage;
  });
  return storages;
}

}  // namespace

std::vector<LiveTensors> live_tensors(const program::Program& program,
                                      const memory::Timeline& timeline) {
  const program::StorageLabels labels(program);
  Collector collector;
  for (const memory::LiveStorage& live : by_id(timeline.live_at_peak)) {
    const program::Storage& storage = program.storages[static_cast<std::size_t>(live.storage)];
    const bool computed = storage.allocated_at >= 0 && storage.category != Category::kGradient;
    const program::StorageLabel label = labels.of(live.storage);
    collector.add(
        live.bytes,
        storage.category,
        label.tensor,
        computed ? program.operators[static_cast<std::size_t>(storage.allocated_at)].name : "",
        label.origin);
  }
  for (const memory::LiveOptimizerTensor& state : timeline.optimizer_state_at_peak) {
    const program::Parameter& parameter =
        program.parameters[static_cast<std::size_t>(state.parameter)];
    program::TensorRef tensor = parameter.tensor;
    tensor.dtype = state.dtype;
    const program::Ints sizes = memory::state_sizes(state.part, tensor.sizes);
    if (sizes != tensor.sizes) tensor = operators::in_row_major_order(sizes, state.dtype);
    collector.add(state.bytes,
                  Category::kOptimizerState,
                  program::geometry_of(tensor),
                  "",
                  fmt::format("{} of {}", name_of(state.part), parameter.name));
  }
  for (const memory::LiveScratch& scratch : timeline.scratch_at_peak) {
    if (scratch.made_at < 0) {
      collector.add(scratch.bytes,
                    std::nullopt,
                    "",
                    fmt::format("update {}", scratch.bytes),
                    "the optimizer's update");
      continue;
    }
    const program::Operator& op = program.operators[static_cast<std::size_t>(scratch.made_at)];
    collector.add(scratch.bytes,
                  std::nullopt,
                  "",
                  fmt::format("{} {}", op.name, scratch.bytes),
                  fmt::format("{} in {}{}",
                              op.name,
                              program::module_label(program, op),
                              scratch.kept ? ", kept by its library" : ""));
  }
  return collector.take();
}

}  // namespace elixir::report
