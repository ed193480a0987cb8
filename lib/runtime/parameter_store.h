// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Parameters and optimizer state at their homes, one parameter at a time: how a trainer is filled,
// saved and restored. Between steps only.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/thread_pool.h"
#include "plan/plan.h"
#include "program/program.h"
#include "runtime/buffer_store.h"
#include "runtime/device/device.h"
#include "runtime/parameter_layout.h"
#include "runtime/state_part.h"

namespace elixir::runtime {

class ParameterStore {
 public:
  /// Everything outlives the store.
  ParameterStore(Device& device,
                 const program::Program& program,
                 const plan::Plan& plan,
                 const BufferStore& buffers,
                 const std::vector<ParameterLayout>& layouts);

  /// As Trainer::state() and set_state(). kInternal for an unknown parameter.
  [[nodiscard]] at::Tensor get(const std::string& parameter, StatePart part) const;
  void set(const std::string& parameter, StatePart part, const at::Tensor& value);

 private:
  struct Found {
    void* memory;  ///< nullptr: the parameter has no such state
    program::TensorRef ref;
  };
  [[nodiscard]] std::size_t position(const std::string& parameter) const;
  [[nodiscard]] Found find(std::size_t parameter, StatePart part) const;
  /// `value` on the CPU in `ref`'s geometry and dtype, rounded as the design says.
  /// May be `value` itself.
  [[nodiscard]] at::Tensor converted(const at::Tensor& value, const program::TensorRef& ref);
  void write(const Found& to, const at::Tensor& value);
  /// The fp32 master of a parameter whose data is `value`, piece by piece.
  void widen(const Found& master, const Found& parameter, const at::Tensor& value);

  Device& device_;
  const program::Program& program_;
  const plan::Plan& plan_;
  const BufferStore& buffers_;
  const std::vector<ParameterLayout>& layouts_;
  kernels::ThreadPool pool_;
  std::vector<float> wide_;  ///< a piece of a master on its way
};

}  // namespace elixir::runtime
