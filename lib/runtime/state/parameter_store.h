// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads and writes parameters and optimizer state at their homes, one parameter at a time, to fill,
// save and restore a trainer. Use it only between steps.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/thread_pool.h"
#include "plan/plan.h"
#include "program/program.h"
#include "runtime/device/device.h"
#include "runtime/ranks/communicator.h"
#include "runtime/state/buffer_store.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/state_part.h"

namespace elixir::runtime {

class ParameterStore {
 public:
  /// All arguments must outlive the store.
  ParameterStore(Device& device,
                 const program::Program& program,
                 const plan::Plan& plan,
                 const BufferStore& buffers,
                 const std::vector<ParameterLayout>& layouts,
                 const Ranks& ranks);

  /// As Trainer::state() and set_state(): with several ranks every one must call get(), because
  /// each holds a part. kInternal for an unknown parameter. Masters and moments are fp32 here, in
  /// whatever form the plan keeps them, so that checkpoints serve every plan.
  [[nodiscard]] at::Tensor get(const std::string& parameter, StatePart part) const;
  void set(const std::string& parameter, StatePart part, const at::Tensor& value);
  /// From now on, gradients mean the gradients of this step: their place in a chunk may change from
  /// step to step.
  void use_gradients_of(std::int64_t step) { gradient_step_ = step; }
  /// As Trainer::held(), saved(), own_state() and set_own_state().
  [[nodiscard]] HeldElements held(const std::string& parameter, int rank) const;
  [[nodiscard]] HeldElements saved(const std::string& parameter, int rank) const;
  [[nodiscard]] at::Tensor get_own(const std::string& parameter, StatePart part) const;
  void set_own(const std::string& parameter, StatePart part, const at::Tensor& value);

 private:
  /// Where this rank's elements of a part of the state are.
  struct Found {
    void* memory;  ///< nullptr: the parameter has no such state
    program::DType dtype = program::DType::kFloat32;
    std::int64_t width = 0;     ///< of an element, in memory
    std::int64_t elements = 0;  ///< on this rank
  };
  [[nodiscard]] HeldElements held_by(int rank, const ParameterLayout& layout) const;
  [[nodiscard]] std::size_t position(const std::string& parameter) const;
  [[nodiscard]] Found find(std::size_t parameter, StatePart part) const;
  /// Whether the parameter is the upper half of its master.
  [[nodiscard]] bool splits(std::size_t parameter) const;
  [[nodiscard]] at::Tensor get_own(std::size_t parameter, StatePart part) const;
  [[nodiscard]] at::Tensor read(const Found& from) const;
  [[nodiscard]] at::Tensor joined_master(std::size_t parameter, const Found& lower) const;
  void write_split(std::size_t parameter, const Found& lower, const at::Tensor& master);
  /// `value` in another dtype, rounded as the design says. May return `value` itself.
  [[nodiscard]] at::Tensor converted(const at::Tensor& value, program::DType dtype);
  void write(const Found& to, const void* from);
  /// Writes the fp32 master of a parameter with the data `value`, piece by piece.
  void widen(const Found& master, const Found& parameter, const at::Tensor& value);

  Device& device_;
  const program::Program& program_;
  const plan::Plan& plan_;
  const BufferStore& buffers_;
  const std::vector<ParameterLayout>& layouts_;
  const Ranks ranks_;
  const plan::RankGrid grid_;
  mutable kernels::ThreadPool pool_;
  std::vector<float> wide_;  ///< one piece of a master
  std::int64_t gradient_step_ = 0;
};

}  // namespace elixir::runtime
