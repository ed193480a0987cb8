// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The captured program of one training step: a flat list of operator calls on views of (storage,
// version). It is exact for one set of input shapes and one target. It is plain data without
// LibTorch: `capture/` makes it, everything else reads it.
//
// Ids are positions: operators[i].id == i, storages[i].id == i. A storage's version starts at 0 and
// grows by one with every call that writes to it. An operator that writes names the old version in
// its arguments and the new version in its outputs.

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "program/choices.h"
#include "program/cpu_isa.h"

namespace elixir::program {

struct WorkspaceAnswers;  // workspace_answers.h

using StorageId = std::int32_t;
using OperatorId = std::int32_t;

enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kUInt64,
  kBool,
  kComplex64,
  kComplex128,
};
[[nodiscard]] std::int64_t element_bytes(DType dtype);
/// "float32", "bfloat16", …: the names in documents.
[[nodiscard]] std::string_view name_of(DType dtype);
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name);
[[nodiscard]] bool is_floating(DType dtype);
[[nodiscard]] bool is_complex(DType dtype);

/// A tensor is a view of a numbered storage. Sizes, strides and offset are in elements.
struct TensorRef {
  StorageId storage = -1;
  std::int32_t version = 0;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  DType dtype = DType::kFloat32;
  bool wrapped_number = false;  ///< type promotion depends on it
  /// LibTorch's lazy views of complex numbers: what is read is the conjugate, or the negative, of
  /// what is stored.
  bool conjugate = false, negative = false;
  bool operator==(const TensorRef&) const = default;
  [[nodiscard]] std::int64_t numel() const;
  /// Bytes of the dense block a non-overlapping view covers: numel * element size.
  [[nodiscard]] std::int64_t bytes() const { return numel() * element_bytes(dtype); }
  /// Bytes of memory behind the view. An expanded dimension has no memory of its own.
  [[nodiscard]] std::int64_t touched_bytes() const;
};

struct None {
  bool operator==(const None&) const = default;
};
/// A device argument: "cpu" or "cuda:0". Never "meta": capture records the target's device instead.
struct DeviceName {
  std::string name;
  bool operator==(const DeviceName&) const = default;
};
using Ints = std::vector<std::int64_t>;  ///< also the canonical form of every empty plain list
using Doubles = std::vector<double>;
using Bools = std::vector<bool>;
using Tensors =
    std::vector<std::optional<TensorRef>>;  ///< Tensor[] and Tensor?[]; nullopt is undefined

/// One argument or result of a call. Dtype, layout and memory-format arguments are LibTorch's
/// integers, as the dispatcher passes them. An undefined tensor is None.
using Argument = std::variant<None,
                              bool,
                              std::int64_t,
                              double,
                              std::complex<double>,
                              std::string,
                              Ints,
                              Doubles,
                              Bools,
                              DeviceName,
                              TensorRef,
                              Tensors>;

enum class Phase : std::uint8_t { kForward, kBackward };

struct Operator {
  OperatorId id = -1;
  std::string name;      ///< "aten::addmm"
  std::string overload;  ///< "" or "out"
  Phase phase = Phase::kForward;
  std::int32_t module = -1;         ///< position in Program::modules; -1 when unattributed
  std::vector<Argument> arguments;  ///< every argument of the schema, positional
  std::vector<Argument> outputs;
  bool writes = false;     ///< the schema has a mutable argument
  std::int64_t flops = 0;  ///< multiply-adds counted twice; 0 for operators without matrix work
  /// For an operator that an edit has added: the operator that it runs again, with the same random
  /// numbers. -1 in captured programs.
  OperatorId repeats = -1;
};

enum class Category : std::uint8_t {
  kParameter,
  kBuffer,
  kGradient,
  kOptimizerState,
  kActivation,
  kTemporary,
  kInput,
  kConstant
};
inline constexpr std::size_t kCategoryCount = 8;
[[nodiscard]] std::string_view name_of(Category category);
[[nodiscard]] std::optional<Category> category_named(std::string_view name);

/// One allocation. `allocated_at` and `freed_after` are the lifetimes of eager autograd on the
/// target. A replay releases storages after their last use instead (`lifetimes.h`).
struct Storage {
  StorageId id = -1;
  std::int64_t bytes = 0;
  Category category = Category::kTemporary;
  OperatorId allocated_at = -1;  ///< -1: exists before the step
  OperatorId freed_after = -1;   ///< operators.size(): still exists after the step
  std::string content_digest;    ///< SHA-256 of a constant's bytes, else empty
  bool on_host = false;          ///< a CPU tensor beside device tensors: a constant, or an
                                 ///< activation's copy that an edit has made
};

struct Parameter {
  std::string name;                ///< the first of `names`
  std::vector<std::string> names;  ///< all of them; several when tied
  TensorRef tensor;                ///< version 0, dense
  bool requires_grad = true;
  std::optional<TensorRef> gradient;  ///< `.grad` after backward; same strides as the parameter
};

struct Buffer {
  std::string name;
  std::vector<std::string> names;
  TensorRef tensor;
  bool mutated = false;    ///< the step writes it (running statistics)
  bool persistent = true;  ///< a state_dict has it; all do where the model file does not say
};

struct Input {
  std::string name;  ///< forward's argument name
  TensorRef tensor;
};

struct Target {
  using Kind = DeviceKind;
  DeviceKind kind = DeviceKind::kCuda;
  int sm = 90;                   ///< compute capability times ten, CUDA only
  CpuIsa isa = CpuIsa::kUnsaid;  ///< CPU only; never kUnsaid in a captured program
  bool operator==(const Target&) const = default;
  [[nodiscard]] std::string text() const;  ///< "cpu:avx2", "cpu" (kUnsaid), "cuda:sm_90"
  static std::optional<Target> parse(std::string_view text);
  /// Whether facts about one target hold for the other: same device and same architecture. A CPU
  /// with an unknown instruction set (kUnsaid) matches every CPU.
  [[nodiscard]] bool goes_with(const Target& other) const;
};

struct Program {
  Target target;
  Precision precision = Precision::kAsSaved;
  Mode mode = Mode::kAsSaved;
  std::vector<std::string> modules;  ///< named_modules() paths; "" is the root
  std::vector<Operator> operators;
  std::vector<Storage> storages;
  std::vector<Parameter> parameters;  ///< in named_parameters() order
  std::vector<Buffer> buffers;
  std::vector<Input> inputs;
  TensorRef loss;
  bool draws_random = false;  ///< an operator uses the random generator
  /// What cuDNN said about its convolutions; nullptr when nobody asked. Part of no fingerprint.
  std::shared_ptr<const WorkspaceAnswers> workspaces;

  [[nodiscard]] std::int64_t parameter_count() const;  ///< elements; tied ones once
};

/// SHA-256 over the canonical form of the target, operators with their flops, storages' bytes,
/// parameters' names and geometry, inputs and loss. Does not depend on paths, weights, lifetimes or
/// modules.
[[nodiscard]] std::string fingerprint(const Program& program);

/// Calls `visit` for every tensor among `arguments`, in order, with a TensorRef that it may change
/// when `arguments` is not const.
template <class Arguments, class Visit>
requires std::same_as<std::remove_const_t<Arguments>, std::vector<Argument>>
void for_each_tensor(Arguments& arguments, Visit visit) {
  for (auto& argument : arguments) {
    if (auto* tensor = std::get_if<TensorRef>(&argument)) {
      visit(*tensor);
    } else if (auto* list = std::get_if<Tensors>(&argument)) {
      for (auto& element : *list) {
        if (element) visit(*element);
      }
    }
  }
}

}  // namespace elixir::program
