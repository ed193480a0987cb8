// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Builds the script of one call. A rule states only what it must. The builder adds the rest:
// outputs that the rule did not name come at the end, in order, and temporaries that it did not
// release are released at the end.

#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/scratch/call_script.h"
#include "operators/scratch/reduction_scratch.h"
#include "program/arguments/arguments.h"

namespace elixir::operators {

inline constexpr std::int64_t kFloatBytes = 4;

class ScriptBuilder {
 public:
  /// `fresh` lists the storages that the call allocates, in the order of its outputs.
  ScriptBuilder(const program::Operator& op,
                std::vector<program::StorageId> fresh,
                const program::Program& program,
                const CudaTraits& traits);

  /// The call's arguments by name, as in `program::Arguments`.
  [[nodiscard]] const program::TensorRef* tensor(std::string_view name) const {
    return arguments_.tensor(name);
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return arguments_.integer(name).value_or(otherwise);
  }
  [[nodiscard]] double number(std::string_view name, double otherwise) const {
    return arguments_.number(name).value_or(otherwise);
  }
  [[nodiscard]] bool flag(std::string_view name) const { return arguments_.flag(name); }
  [[nodiscard]] const program::Arguments& arguments() const { return arguments_; }
  [[nodiscard]] const program::Operator& op() const { return op_; }
  [[nodiscard]] const CudaTraits& traits() const { return traits_; }
  [[nodiscard]] std::size_t output_count() const { return fresh_.size(); }
  [[nodiscard]] std::int64_t output_bytes(std::size_t position) const;
  [[nodiscard]] bool is_on_host(const program::TensorRef& tensor) const;
  /// Whether calls of this form were recorded on a device of this kind, and asked for what was
  /// predicted.
  [[nodiscard]] bool was_recorded() const;

  /// Allocates the `position`-th fresh output now. Does nothing if it does not exist or is already
  /// allocated.
  void output(std::size_t position);
  /// Allocates all fresh outputs that are not yet allocated.
  void outputs();
  /// Allocates scratch memory and returns its number; -1 for zero bytes.
  int temporary(std::int64_t bytes);
  void release(int temporary);
  /// Memory that the process keeps, and scratch memory used once to create it.
  void persistent(std::int64_t bytes);
  void once(std::int64_t bytes);
  /// A reduction's scratch memory, which is released again. Results in half precision cannot hold
  /// the sums of a reduction that several kernels share.
  void reduce(const program::TensorRef& input,
              const program::Ints& dimensions,
              program::DType result);
  /// For a rule that does not say what LibTorch does with tensors beyond 32-bit offsets.
  void modelled_beyond_32_bits();
  void measured() { source_ = ScriptSource::kMeasured; }
  void modelled() { source_ = ScriptSource::kModelled; }

  [[nodiscard]] CallScript finish();

 private:
  const program::Operator& op_;
  program::Arguments arguments_;
  const program::Program& program_;
  const CudaTraits& traits_;
  std::vector<program::StorageId> fresh_;
  std::vector<bool> there_;
  std::vector<ScriptStep> steps_;
  std::vector<int> held_;
  int temporaries_ = 0;
  ScriptSource source_ = ScriptSource::kExact;
};

/// Whether offsets in bytes from a tensor's first element to all others fit into 32 bits. LibTorch
/// gives larger tensors other kernels, or one kernel for each of several parts.
[[nodiscard]] bool is_within_32_bits(const program::TensorRef& tensor);
/// The same for all tensors that a call takes and returns.
[[nodiscard]] bool is_within_32_bits(const program::Operator& op);
/// Whether the elements of a tensor are one block in row-major order.
[[nodiscard]] bool is_contiguous(const program::TensorRef& tensor);
/// Whether `reshape(-1)` makes a view: its elements, in row-major order, are equally far apart.
[[nodiscard]] bool is_evenly_spaced(const program::TensorRef& tensor);
/// A tensor without storage whose elements are one block in row-major order.
[[nodiscard]] program::TensorRef in_row_major_order(program::Ints sizes, program::DType dtype);
/// What LibTorch's `to` makes of a tensor: one block, in the tensor's order if that is one block.
[[nodiscard]] program::TensorRef converted(const program::TensorRef& tensor, program::DType dtype);
/// Whether the elements of a tensor are one block, in any order of dimensions.
[[nodiscard]] bool is_one_block(const program::TensorRef& tensor);
/// Bytes of the number in which LibTorch's kernels sum up numbers of `dtype`.
[[nodiscard]] std::int64_t accumulator_bytes(program::DType dtype);
/// The dtypes that a reduction of `input` to `result` computes with.
[[nodiscard]] ReducedDTypes reduced_dtypes(program::DType input, program::DType result);
/// Writes an estimate for a call of a library that nobody has asked or recorded: the bytes that the
/// call reads. Most recorded calls need less.
void estimate_library_call(ScriptBuilder& script);
[[nodiscard]] std::int64_t bytes_read(const program::Operator& op);
/// nullptr when the call gives no tensor.
[[nodiscard]] const program::TensorRef* first_output(const program::Operator& op);

}  // namespace elixir::operators
