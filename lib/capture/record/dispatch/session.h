// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// State of the capture that runs on this thread: what the two dispatcher fallbacks (fallbacks.cc)
// read and write.

#include <exception>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/operator_name.h>

#include "capture/decompositions/decompositions.h"
#include "capture/meta/meta_kernels.h"
#include "capture/record/dispatch/leaf_kernels.h"
#include "capture/record/dispatch/recorder.h"
#include "capture/record/graph/module_path.h"
#include "core/error.h"
#include "program/program.h"

namespace elixir::capture {

class Session {
 public:
  Session(const program::Target& target, CaptureOn where, const torch::jit::Module& root);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Of this thread, or nullptr.
  static Session* current();

  /// What the tables say about one operator, looked up once.
  struct OperatorFacts {
    std::string name;  ///< with overload: "aten::add.Tensor"
    std::vector<const Choice*> choices;
    Geometry geometry;
    bool copies = false;      ///< its source may be on another device
    bool reads_data = false;  ///< its result or its size depends on values
    bool factory_with_size =
        false;  ///< makes a tensor whose size is given by numbers, not by a list
    std::optional<std::size_t> dtype_argument;
  };
  [[nodiscard]] const OperatorFacts& facts_of(const c10::OperatorHandle& op);

  /// Keeps the first failure: TorchScript and autograd wrap exceptions on their way out.
  void keep_failure(const Error& error);
  void keep_message(const std::string& message);
  /// kDataDependent: `op` needs a value that is not there.
  [[noreturn]] void refuse_data_dependent(const std::string& op);
  /// A known hint about calls like the one that runs now, told once with their number.
  void hint(const std::string& text);
  [[nodiscard]] std::vector<std::string> hints() const;
  /// Path of the module that runs now, for messages: "module 'h.0'" or "the root module".
  [[nodiscard]] std::string place() const;
  /// Of the call that is about to be recorded; -1 when unknown.
  [[nodiscard]] std::int32_t module_of_call();
  /// The composite in flight, or in backward the autograd node that runs or kEngine; else "".
  [[nodiscard]] std::string enclosing() const;

  void begin_backward();
  [[nodiscard]] bool made_in_backward(const at::Tensor& tensor) const;

  struct MissingKernel {
    std::string op, place;
  };

  const program::Target target;
  const c10::Device device;
  const CaptureOn where;
  ModuleTracker modules;
  Recorder recorder;
  program::Phase phase = program::Phase::kForward;
  int depth = 0;                              ///< > 0 inside a recorded call
  std::vector<const std::string*> in_flight;  ///< calls above autograd, outermost first
  std::vector<MissingKernel> missing;
  std::optional<Error> failure;
  std::string message;  ///< LibTorch's, of the first failing call
  /// With --precision: a graph that names another floating dtype is refused.
  std::optional<at::ScalarType> required_dtype;
  std::unordered_map<const c10::TensorImpl*, std::string> parameter_names;

 private:
  struct Hint {
    std::string text, place;
    int calls = 0;
  };
  std::vector<Hint> hints_;
  std::unordered_map<c10::OperatorName, OperatorFacts> facts_;
  std::int32_t last_backward_module_ = 0;
  program::OperatorId first_of_backward_ = 0;
  int nodes_running_ = 0;
  std::uint64_t node_callback_ = 0;
  Session* previous_;
  LeafKernels leaves_;
};

}  // namespace elixir::capture
