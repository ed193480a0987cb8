// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: one step is run, and every call of it written down.
// Here: the capture that runs on this thread, as the two dispatcher fallbacks (fallbacks.cc) and
// the target's choices see it.

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/record/dispatch/findings.h"
#include "capture/record/dispatch/leaf_kernels.h"
#include "capture/record/dispatch/operator_facts.h"
#include "capture/record/dispatch/recorder.h"
#include "capture/record/dispatch/step_position.h"
#include "core/error.h"
#include "program/program.h"

namespace elixir::capture {

/// This thread's capture while it lives; the one before it waits.
class Session {
 public:
  Session(const program::Target& target, CaptureOn where, const torch::jit::Module& root);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Of this thread, or nullptr.
  static Session* current();

  [[nodiscard]] const program::Target& target() const { return target_; }
  [[nodiscard]] c10::Device device() const { return device_; }
  [[nodiscard]] bool on_meta() const { return where_ == CaptureOn::kMeta; }
  /// With --precision: a graph that names another floating dtype is refused.
  void require_dtype(std::optional<at::ScalarType> dtype) { required_dtype_ = dtype; }
  [[nodiscard]] std::optional<at::ScalarType> required_dtype() const { return required_dtype_; }

  [[nodiscard]] Recorder& recorder() { return recorder_; }
  [[nodiscard]] StepPosition& position() { return position_; }
  [[nodiscard]] const StepPosition& position() const { return position_; }
  [[nodiscard]] Findings& findings() { return findings_; }
  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] const OperatorFacts& facts_of(const c10::OperatorHandle& op) {
    return operators_.of(op);
  }

  /// Forward has ended.
  void begin_backward();
  [[nodiscard]] bool made_in_backward(const at::Tensor& tensor) const;

  /// While it lives, calls are part of a recorded one. Not inside another.
  class RecordedCall {
   public:
    explicit RecordedCall(Session& session) : session_(session) { session_.in_call_ = true; }
    ~RecordedCall() { session_.in_call_ = false; }
    RecordedCall(const RecordedCall&) = delete;
    RecordedCall& operator=(const RecordedCall&) = delete;

   private:
    Session& session_;
  };
  [[nodiscard]] bool in_recorded_call() const { return in_call_; }

  /// A known hint about calls like the one that runs now.
  void hint(const std::string& text) { findings_.hint(text, position_.place()); }
  /// Keeps the error as the failure of the capture, and throws it.
  [[noreturn]] void refuse(const Error& error);
  /// kDataDependent: `op` needs a value that is not there. `help` says what to do instead; "" when
  /// only what is true of every such operator is known.
  [[noreturn]] void refuse_data_dependent(const std::string& op, const std::string& help = "");

 private:
  const program::Target target_;
  const c10::Device device_;
  const CaptureOn where_;
  std::optional<at::ScalarType> required_dtype_;
  OperatorTable operators_;
  StepPosition position_;
  Recorder recorder_;
  Findings findings_;
  program::OperatorId first_of_backward_ = 0;
  bool in_call_ = false;
  Session* previous_;
  LeafKernels leaves_;
};

}  // namespace elixir::capture
