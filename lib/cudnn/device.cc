// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "cudnn/device.h"

#include <cstdint>
#include <utility>

namespace elixir::cudnn {

Device Device::of_this_machine(const Library& library) {
  cudnnHandle_t handle = nullptr;
  library.check(library.create_handle(&handle), "a handle of cuDNN");
  return {library, handle, nullptr};
}

Device Device::described(const Library& library, const std::string& description) {
  auto descriptor = std::make_unique<Descriptor>(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  descriptor->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                  CUDNN_TYPE_CHAR,
                  static_cast<std::int64_t>(description.size()),
                  description.data());
  descriptor->finalize("the description of a GPU");
  return {library, nullptr, std::move(descriptor)};
}

std::string Device::describe() const {
  Descriptor descriptor(*library_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  const std::int32_t current = 0;
  descriptor.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &current);
  descriptor.finalize("the description of a GPU");
  const std::int64_t size =
      descriptor.get(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, nullptr);
  std::string text(static_cast<std::size_t>(size), '\0');
  descriptor.get(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, size, text.data());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

void Device::bind_graph(Descriptor& graph) const {
  if (!is_here()) return;
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
}

void Device::bind_heuristics(Descriptor& heuristics) const {
  if (!is_here()) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *description_);
}

void Device::bind_engine(Descriptor& engine) const {
  if (!is_here()) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *description_);
}

void Device::bind_plan(Descriptor& plan) const {
  if (is_here()) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
  } else {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *description_);
  }
}

}  // namespace elixir::cudnn
