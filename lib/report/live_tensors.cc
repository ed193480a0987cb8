// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/live_tensors.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "memory/optimizer_state.h"
#include "report/program_labels.h"

namespace elixir::report {
namespace {

using program::Category;

class Collector {
 public:
  /// `kind` tells tensors of one geometry apart: the operator that made them, if any.
  void add(LiveTensors tensor, const std::string& kind) {
    const auto key = std::make_tuple(tensor.bytes, tensor.category, tensor.tensor, kind);
    const auto [found, fresh] = positions_.try_emplace(key, entries_.size());
    if (fresh) {
      entries_.push_back(std::move(tensor));
    } else {
      ++entries_[found->second].count;
    }
  }

  [[nodiscard]] std::vector<LiveTensors> take() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.bytes > b.bytes;
    });
    return std::move(entries_);
  }

 private:
  std::map<std::tuple<std::int64_t, Category, std::string, std::string>, std::size_t> positions_;
  std::vector<LiveTensors> entries_;
};

}  // namespace

std::vector<LiveTensors> live_tensors(const program::Program& program,
                                      const memory::Timeline& timeline,
                                      const std::string& optimizer) {
  const StorageLabels labels(program);
  Collector collector;
  for (const memory::LiveStorage& live : timeline.live_at_peak) {
    const program::Storage& storage = program.storages[static_cast<std::size_t>(live.storage)];
    const bool computed = storage.allocated_at >= 0 && storage.category != Category::kGradient;
    StorageLabel label = labels.of(live.storage);
    collector.add(
        {.bytes = live.bytes,
         .category = storage.category,
         .tensor = std::move(label.tensor),
         .origin = std::move(label.origin)},
        computed ? program.operators[static_cast<std::size_t>(storage.allocated_at)].name : "");
  }
  for (const memory::OptimizerTensor& state : memory::optimizer_state(program, optimizer)) {
    const program::Parameter& parameter =
        program.parameters[static_cast<std::size_t>(state.parameter)];
    program::TensorRef tensor = parameter.tensor;
    if (program::element_bytes(tensor.dtype) < 4) tensor.dtype = program::DType::kFloat32;
    collector.add({.bytes = memory::rounded(state.bytes),
                   .category = Category::kOptimizerState,
                   .tensor = geometry_of(tensor),
                   .origin = fmt::format("{} of {}", state.part, parameter.name)},
                  "");
  }
  return collector.take();
}

}  // namespace elixir::report
