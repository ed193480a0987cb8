// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Records operator calls as a program. It numbers storages in order of first use, counts versions,
// keeps constants, and notes when each storage is released.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Storage.h>

#include "capture/record/dispatch/meta_storage.h"
#include "program/program.h"

namespace elixir::capture {

enum class CaptureOn { kMeta, kDevice };

class Recorder final : public ReleaseListener {
 public:
  Recorder(const program::Target& target, CaptureOn where);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Declares a tensor that exists before the step. Call it once per tensor, before the first call.
  program::TensorRef declare(const at::Tensor& tensor, program::Category category);
  /// Records one call. begin() needs the arguments on the stack, end() the results.
  void begin(const c10::OperatorHandle& op,
             const torch::jit::Stack& stack,
             program::Phase phase,
             std::int32_t module);
  void end(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  /// Notes that a CPU constant was used as a device tensor, so it belongs on the device.
  void used_on_device(const at::Tensor& tensor);

  /// The tensor as the program sees it now.
  [[nodiscard]] program::TensorRef ref(const at::Tensor& tensor);
  [[nodiscard]] program::Argument argument(const c10::IValue& value);
  [[nodiscard]] std::int32_t version_of(program::StorageId id) const;
  /// The call that allocated the tensor's storage; -1: before the step, or unknown.
  [[nodiscard]] program::OperatorId allocated_at(const at::Tensor& tensor) const;

  /// Ends the recording. Storages that are still alive stay alive until after the step.
  void finish();

  std::vector<program::Operator> operators;
  std::vector<program::Storage> storages;
  std::map<program::StorageId, at::Tensor> constants;
  bool draws_random = false;

  void on_release(const MetaBlock& block) override;

 private:
  struct Live {
    program::StorageId id;
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  };
  [[nodiscard]] program::StorageId id_of(const at::Tensor& tensor) const;
  program::StorageId add(const at::Tensor& tensor);
  void classify_unknown(program::StorageId id, const at::Tensor& tensor);
  void poll_releases();
  [[nodiscard]] bool runs_on_host(const program::Operator& call) const;

  c10::Device device_;
  CaptureOn where_;
  std::uint64_t number_;
  std::vector<std::int32_t> versions_;
  std::unordered_map<const c10::StorageImpl*, program::StorageId> real_;  ///< storages with memory
  std::vector<Live> live_;
  std::vector<program::StorageId> written_;  ///< by the current call
  bool in_call_ = false;
  bool finished_ = false;
};

/// Positions of the arguments that a call writes to: those that its schema marks, and those that it
/// writes without marking them.
[[nodiscard]] std::vector<std::size_t> written_arguments(const c10::OperatorHandle& op,
                                                         c10::ArrayRef<c10::IValue> arguments);

}  // namespace elixir::capture
