// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The GPU that cuDNN is asked about: one of this machine, or one that is described. cuDNN needs no
// GPU and no driver for a described one (its "deviceless" heuristics).

#include <memory>
#include <string>

#include "cudnn/backend.h"

namespace elixir::cudnn {

class Device {
 public:
  /// The machine's current GPU. Throws Failure when there is none.
  static Device of_this_machine(const Library& library);
  /// `description`: JSON as describe() gives it. Throws Failure when cuDNN does not accept it.
  static Device described(const Library& library, const std::string& description);

  [[nodiscard]] bool is_here() const { return handle_ != nullptr; }
  /// cuDNN's description of this machine's GPU, as JSON.
  [[nodiscard]] std::string describe() const;

  /// Tells a descriptor which device it is for: by the handle of a GPU of this machine where the
  /// attribute `by_handle` exists, else by the description.
  void bind_graph(Descriptor& graph) const;
  void bind_heuristics(Descriptor& heuristics) const;
  void bind_engine(Descriptor& engine) const;
  void bind_plan(Descriptor& plan) const;

 private:
  Device(const Library& library, cudnnHandle_t handle, std::unique_ptr<Descriptor> description)
      : library_(&library), handle_(handle), description_(std::move(description)) {}

  const Library* library_;
  cudnnHandle_t handle_ = nullptr;
  std::unique_ptr<Descriptor> description_;
};

}  // namespace elixir::cudnn
