// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes operator calls down as a program: numbers storages in the order in which they are met,
// counts versions, keeps constants, and notes when each storage is released.

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

  /// Something that is there before the step. Once each, before the first call.
  program::TensorRef declare(const at::Tensor& tensor, program::Category category);
  /// One call: begin with its arguments on the stack, end with its results there.
  void begin(const c10::OperatorHandle& op,
             const torch::jit::Stack& stack,
             program::Phase phase,
             std::int32_t module);
  void end(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  /// A CPU constant was used as a device tensor: it belongs on the device.
  void used_on_device(const at::Tensor& tensor);

  /// The tensor as the program sees it now.
  [[nodiscard]] program::TensorRef ref(const at::Tensor& tensor);
  [[nodiscard]] program::Argument argument(const c10::IValue& value);
  [[nodiscard]] std::int32_t version_of(program::StorageId id) const;
  /// The call that made the tensor's storage; -1: there before the step, or not known.
  [[nodiscard]] program::OperatorId allocated_at(const at::Tensor& tensor) const;

  /// No more calls; storages that are still alive stay until after the step.
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
  std::vector<program::StorageId> written_;  ///< by the call in flight
  bool in_call_ = false;
  bool finished_ = false;
};

/// Positions of the arguments that a call writes to, as its schema says; and those that it writes
/// to without saying so.
[[nodiscard]] std::vector<std::size_t> written_arguments(const c10::OperatorHandle& op,
                                                         c10::ArrayRef<c10::IValue> arguments);

}  // namespace elixir::capture
