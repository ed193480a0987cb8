// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/names/labels.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace elixir::program {

std::string geometry_of(const TensorRef& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(tensor.sizes, ","));
}

std::string module_label(const std::string& path) {
  return path.empty() ? "(model)" : path;
}

std::string module_label(const Program& program, const Operator& op) {
  if (op.module < 0) return "(unattributed)";
  return module_label(program.modules[static_cast<std::size_t>(op.module)]);
}

std::string label_of(Category category) {
  std::string name(name_of(category));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string label_of(Phase phase) {
  return phase == Phase::kForward ? "forward" : "backward";
}

WorkUnit work_unit(std::int64_t most) {
  if (most >= 1'000'000'000'000) return {"TFLOP", 1e12};
  if (most >= 1'000'000'000) return {"GFLOP", 1e9};
  return {"MFLOP", 1e6};
}

std::string in_unit(std::int64_t flops, const WorkUnit& unit) {
  const double value = static_cast<double>(flops) / unit.flops;
  if (flops == 0) return "0";
  if (value < 0.001) return "< 0.001";
  return value < 1000 ? fmt::format("{:.4g}", value) : format_count(std::llround(value));
}

StorageLabels::StorageLabels(const Program& program) : program_(program) {
  for (const Parameter& parameter : program.parameters) {
    known_.try_emplace(parameter.tensor.storage,
                       StorageLabel{geometry_of(parameter.tensor), parameter.name});
  }
  for (const Buffer& buffer : program.buffers) {
    known_.try_emplace(buffer.tensor.storage,
                       StorageLabel{geometry_of(buffer.tensor), buffer.name});
  }
  for (const Input& input : program.inputs) {
    known_.try_emplace(input.tensor.storage, StorageLabel{geometry_of(input.tensor), input.name});
  }
  for (const Parameter& parameter : program.parameters) {
    if (!parameter.gradient) continue;
    known_.try_emplace(
        parameter.gradient->storage,
        StorageLabel{geometry_of(*parameter.gradient), "gradient of " + parameter.name});
  }
}

StorageLabel StorageLabels::of(StorageId id) const {
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  const Storage& storage = program_.storages[static_cast<std::size_t>(id)];
  StorageLabel label{fmt::format("{} B", storage.bytes), "constant"};
  if (storage.allocated_at < 0) return label;
  const Operator& op = program_.operators[static_cast<std::size_t>(storage.allocated_at)];
  label.origin = fmt::format("{} in {}", op.name, module_label(program_, op));
  bool found = false;
  for_each_tensor(op.outputs, [&](const TensorRef& output) {
    if (output.storage == id && !found) label.tensor = geometry_of(output);
    found = found || output.storage == id;
  });
  return label;
}

}  // namespace elixir::program
