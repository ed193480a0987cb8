// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One operator of a program made callable: its LibTorch handle, its plain arguments as IValues, its
// tensors as shells over a table of storages. Callers hold a ReplayScope on the thread, fill the
// table with what exists before the call, and release storages themselves. A ReplayCall is not
// thread safe: it reuses its own stack.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Storage.h>

#include "capture/record/arguments/scalar_type.h"
#include "program/program.h"

namespace elixir::replay {

/// Storages of one replay by program::StorageId. An empty c10::Storage is not there.
using StorageTable = std::vector<c10::Storage>;

/// While alive, calls on this thread go straight to the backend's kernels, below autograd.
class ReplayScope {
  at::AutoDispatchBelowADInplaceOrView below_;
};

/// A tensor over `storage` with the geometry of `ref`; shares the memory.
[[nodiscard]] at::Tensor make_shell(const c10::Storage& storage, const program::TensorRef& ref);

/// `bytes` of memory that somebody else owns as a storage on `device`. It does not free the memory;
/// `StorageImpl::set_data_ptr_noswap` moves every tensor over it.
[[nodiscard]] c10::Storage borrow_storage(void* memory, std::int64_t bytes, c10::Device device);

/// kUnsupportedModel for the first call of `program` that no model may make (capture/record/
/// allowed_operators.h), at its place in `file`. A document names operators as it likes.
void refuse_what_is_not_allowed(const program::Program& program, const std::string& file);

class ReplayCall {
 public:
  /// Operator `id` of `program`. kMissingKernel when this LibTorch has no such operator,
  /// kUnsupportedModel when no model may call it, kInternal when the recorded arguments do not fit
  /// its schema.
  ReplayCall(const program::Program& program, program::OperatorId id);

  /// Calls the operator on `storages` (sized Program::storages) and puts the storages of its fresh
  /// outputs into it. Every storage among the arguments must be there. kInternal when an output has
  /// another geometry or storage size than the program says; exceptions of LibTorch pass through.
  void run(StorageTable& storages);

  /// Storages that the call makes: among its outputs and not among its arguments; ascending.
  [[nodiscard]] const std::vector<program::StorageId>& fresh() const { return fresh_; }
  [[nodiscard]] program::OperatorId id() const { return id_; }
  [[nodiscard]] const c10::OperatorHandle& handle() const { return handle_; }

 private:
  struct Slot {
    enum class Kind : std::uint8_t {
      kPlain,
      kTensor,
      kTensors,
      kOptionalTensors,
      kDropoutState,  ///< cuDNN's, of which the program does not know; `plain` is the probability
    } kind;
    c10::IValue plain;
    std::vector<at::Tensor> shells;  ///< reused by every call; undefined where the argument is
    std::vector<std::optional<program::TensorRef>> refs;
  };
  struct Output {
    std::size_t position;  ///< among the results
    std::size_t element;   ///< inside a list result
    program::TensorRef ref;
    std::int64_t storage_bytes;
  };

  [[nodiscard]] Slot make_slot(const program::Argument& argument, const c10::TypePtr& type) const;
  const at::Tensor& fill(Slot& slot, std::size_t i, const StorageTable& storages) const;
  void find_dropout_state(const program::Operator& op);
  void push_arguments(const StorageTable& storages);
  void release_shells();
  void bind_outputs(StorageTable& storages) const;
  [[noreturn]] void fail(const std::string& what) const;

  program::OperatorId id_;
  std::string name_;
  bool writes_;
  c10::OperatorHandle handle_;
  std::vector<Slot> slots_;
  std::vector<Output> outputs_;  ///< fresh ones alone
  std::vector<program::StorageId> fresh_;
  std::vector<c10::IValue> stack_;
};

}  // namespace elixir::replay
