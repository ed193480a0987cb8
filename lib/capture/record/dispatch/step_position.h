// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where in the step a capture is: the phase, the module, and what made the call that comes next.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/record/graph/module_path.h"
#include "program/program.h"

namespace elixir::capture {

/// Follows the step of this thread's session.
class StepPosition {
 public:
  explicit StepPosition(const torch::jit::Module& root);
  ~StepPosition();
  StepPosition(const StepPosition&) = delete;
  StepPosition& operator=(const StepPosition&) = delete;

  /// Backward's gradients of a parameter belong to the module that owns it.
  void name_parameter(const at::Tensor& parameter, const std::string& name);
  void begin_backward() { phase_ = program::Phase::kBackward; }

  [[nodiscard]] program::Phase phase() const { return phase_; }
  /// Path of the module that runs now, for messages: "module 'h.0'" or "the root module".
  [[nodiscard]] std::string place() const;
  /// Of the call that is about to be recorded; -1 when unknown.
  [[nodiscard]] std::int32_t module_of_call();
  /// The composite in flight, or in backward the autograd node that runs or kEngine; else "".
  [[nodiscard]] std::string enclosing() const;
  /// As ModuleTracker::paths.
  [[nodiscard]] const std::vector<std::string>& module_paths() const { return modules_.paths(); }

  /// A call above autograd, in flight while this lives. The name must outlive it.
  class CallInFlight {
   public:
    CallInFlight(StepPosition& position, const std::string& name);
    ~CallInFlight();
    CallInFlight(const CallInFlight&) = delete;
    CallInFlight& operator=(const CallInFlight&) = delete;

   private:
    StepPosition& position_;
  };
  [[nodiscard]] bool has_call_in_flight() const { return !in_flight_.empty(); }

 private:
  ModuleTracker modules_;
  program::Phase phase_ = program::Phase::kForward;
  std::vector<const std::string*> in_flight_;  ///< outermost first
  std::unordered_map<const c10::TensorImpl*, std::string> parameter_names_;
  std::int32_t last_backward_module_ = 0;
  int nodes_running_ = 0;
  std::uint64_t node_callback_ = 0;
};

}  // namespace elixir::capture
