// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One callable operator of a program: its LibTorch handle, its plain arguments as IValues, and its
// tensors as shells over a table of storages. The caller must hold a ReplayScope on the thread,
// fill the table with the storages that exist before the call, and release storages itself. A
// ReplayCall is not thread-safe, because it reuses its stack.

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

/// The storages of one replay by program::StorageId. An empty c10::Storage does not exist (yet).
using StorageTable = std::vector<c10::Storage>;

/// While it lives, calls on this thread go directly to the backend's kernels, below autograd.
class ReplayScope {
  at::AutoDispatchBelowADInplaceOrView below_;
};

/// A tensor over `storage` with the geometry of `ref`. It shares the memory.
[[nodiscard]] at::Tensor make_shell(const c10::Storage& storage, const program::TensorRef& ref);

/// A storage on `device` over `bytes` of memory that the caller owns. It does not free the memory.
/// The caller can move all its tensors to other memory with `StorageImpl::set_data_ptr_noswap`.
[[nodiscard]] c10::Storage borrow_storage(void* memory, std::int64_t bytes, c10::Device device);

/// Throws kUnsupportedModel for the first call of `program` that no model may make
/// (capture/record/allowed_operators.h), at its place in `file`. Needed because a document may name
/// any operator.
void refuse_what_is_not_allowed(const program::Program& program, const std::string& file);

class ReplayCall {
 public:
  /// Prepares operator `id` of `program`. Throws kMissingKernel when this LibTorch has no such
  /// operator, kUnsupportedModel when no model may call it, kInternal when the recorded arguments
  /// do not fit its schema.
  ReplayCall(const program::Program& program, program::OperatorId id);

  /// Calls the operator on `storages` (sized Program::storages) and puts the storages of its fresh
  /// outputs into the table. With `into_given`, its one result is written to the storage that is in
  /// the table for it; only for operators::has_out_variant(). Every storage among the arguments
  /// must exist. Throws kInternal when an output's geometry or storage size differs from the
  /// program's; exceptions of LibTorch pass through.
  void run(StorageTable& storages, bool into_given = false);

  /// Storages that the call produces: among its outputs, not among its arguments. Ascending.
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
      kDropoutState,  ///< cuDNN's; not in the program; `plain` is the probability
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
  std::optional<c10::OperatorHandle> into_;  ///< its out variant
  std::vector<Slot> slots_;
  std::vector<Output> outputs_;  ///< only fresh ones
  std::vector<program::StorageId> fresh_;
  std::vector<c10::IValue> stack_;
};

}  // namespace elixir::replay
