// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/replay_call.h"

#include <algorithm>
#include <utility>

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/record/refused/allowed_operators.h"
#include "core/error.h"
#include "operators/out_variant.h"
#include "operators/own.h"
#include "replay/dropout_state.h"

namespace elixir::replay {
namespace {

using program::TensorRef;

void check_allowed(const c10::OperatorHandle& handle,
                   const program::Operator& op,
                   const std::string& file) {
  if (capture::is_allowed(handle.schema()) || operators::is_own(op.name)) return;
  ErrorInfo info;
  info.code = ErrorCode::kUnsupportedModel;
  info.message =
      fmt::format("the program calls {}, which could do more than compute on tensors", op.name);
  info.where = SourcePos{file, fmt::format("/operators/{}/name", op.id), {}, {}};
  info.help = {"elixir-profile does not write this call: profile the model again"};
  throw Error(info);
}

c10::OperatorHandle find(const program::Operator& op, const std::string& overload) {
  auto handle = c10::Dispatcher::singleton().findSchema({op.name, overload});
  if (!handle) {
    throw Error(ErrorCode::kMissingKernel,
                "this LibTorch has no operator {}{}{}",
                op.name,
                overload.empty() ? "" : ".",
                overload);
  }
  check_allowed(*handle, op, {});
  return *handle;
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  if (auto optional = type->cast<c10::OptionalType>()) return optional->getElementType();
  return type;
}

bool is_optional(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::OptionalType;
}

/// The element type of a list type; nullptr for other types.
c10::TypePtr list_element(const c10::TypePtr& type) {
  if (auto list = without_optional(type)->cast<c10::ListType>()) return list->getElementType();
  return nullptr;
}

/// A list of numbers with the list type of the schema. The schema is needed because an empty list
/// has no type.
template <class Number>
c10::IValue number_list(const std::vector<Number>& values, const c10::TypePtr& element) {
  switch (element->kind()) {
    case c10::TypeKind::FloatType:
      return c10::IValue(std::vector<double>(values.begin(), values.end()));
    case c10::TypeKind::BoolType: {
      c10::List<bool> list;
      for (const auto value : values) list.push_back(static_cast<bool>(value));
      return list;
    }
    case c10::TypeKind::NumberType: {
      c10::impl::GenericList list(c10::NumberType::get());
      for (const auto value : values) list.push_back(c10::IValue(value));
      return list;
    }
    case c10::TypeKind::StringType:
      return c10::List<std::string>();
    default:
      return c10::IValue(std::vector<std::int64_t>(values.begin(), values.end()));
  }
}

c10::IValue plain_value(const program::Argument& argument, const c10::TypePtr& type) {
  const c10::TypePtr bare = without_optional(type);
  const c10::TypePtr element = list_element(type);
  if (const auto* value = std::get_if<bool>(&argument)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&argument)) {
    if (bare->kind() == c10::TypeKind::FloatType) return static_cast<double>(*value);
    return *value;
  }
  if (const auto* value = std::get_if<double>(&argument)) return *value;
  if (const auto* value = std::get_if<std::complex<double>>(&argument)) {
    return c10::complex<double>(value->real(), value->imag());
  }
  if (const auto* value = std::get_if<std::string>(&argument)) return *value;
  if (const auto* value = std::get_if<program::DeviceName>(&argument)) {
    return c10::Device(value->name);
  }
  if (element) {
    if (const auto* list = std::get_if<program::Ints>(&argument)) {
      return number_list(*list, element);
    }
    if (const auto* list = std::get_if<program::Doubles>(&argument)) {
      return number_list(*list, element);
    }
    if (const auto* list = std::get_if<program::Bools>(&argument)) {
      return number_list(*list, element);
    }
  }
  return {};
}

/// The storage of a shell between calls, so that a shell keeps no real storage alive.
const c10::Storage& placeholder(c10::DeviceType type) {
  static const c10::Storage cpu = borrow_storage(nullptr, 0, c10::Device(c10::kCPU));
  static const c10::Storage cuda = borrow_storage(nullptr, 0, c10::Device(c10::kCUDA, 0));
  return type == c10::kCUDA ? cuda : cpu;
}

std::string geometry(c10::IntArrayRef sizes,
                     c10::IntArrayRef strides,
                     std::int64_t offset,
                     c10::ScalarType dtype) {
  return fmt::format("{}[{}] strides [{}] offset {}",
                     c10::toString(dtype),
                     fmt::join(sizes, ", "),
                     fmt::join(strides, ", "),
                     offset);
}

/// Same sizes, and same strides where they matter for the layout.
bool same_layout(const at::Tensor& tensor, const TensorRef& ref) {
  const c10::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  if (!sizes.equals(ref.sizes)) return false;
  if (strides.equals(ref.strides) || tensor.numel() == 0) return true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != ref.strides[i]) return false;
  }
  return true;
}

}  // namespace

at::Tensor make_shell(const c10::Storage& storage, const TensorRef& ref) {
  const auto key = storage.device().is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage),
      c10::DispatchKeySet(key),
      c10::scalarTypeToTypeMeta(capture::scalar_type(ref.dtype)));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(ref.sizes, ref.strides, ref.offset);
  if (ref.wrapped_number) tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  if (ref.conjugate) tensor._set_conj(true);
  if (ref.negative) tensor._set_neg(true);
  return tensor;
}

c10::Storage borrow_storage(void* memory, std::int64_t bytes, c10::Device device) {
  // oneDNN requires that the context of a DataPtr equals its pointer. The deleter frees nothing.
  return {c10::Storage::use_byte_size_t{},
          static_cast<std::size_t>(bytes),
          c10::DataPtr(
              memory, memory, [](void*) {}, device),
          /*allocator=*/nullptr,
          /*resizable=*/false};
}

void refuse_what_is_not_allowed(const program::Program& program, const std::string& file) {
  for (const program::Operator& op : program.operators) {
    const auto handle = c10::Dispatcher::singleton().findSchema({op.name, op.overload});
    if (handle) check_allowed(*handle, op, file);
  }
}

ReplayCall::ReplayCall(const program::Program& program, program::OperatorId id)
    : id_(id),
      name_(program.operators.at(id).name),
      writes_(program.operators[id].writes),
      handle_(find(program.operators[id], program.operators[id].overload)) {
  const program::Operator& op = program.operators[id];
  if (!op.overload.empty()) name_ += "." + op.overload;
  const c10::FunctionSchema& schema = handle_.schema();
  if (schema.arguments().size() != op.arguments.size() ||
      schema.returns().size() != op.outputs.size()) {
    fail(fmt::format("{} arguments and {} results recorded, the schema has {} and {}",
                     op.arguments.size(),
                     op.outputs.size(),
                     schema.arguments().size(),
                     schema.returns().size()));
  }
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    slots_.push_back(make_slot(op.arguments[i], schema.arguments()[i].type()));
  }
  find_dropout_state(op);
  std::vector<program::StorageId> given;
  program::for_each_tensor(op.arguments,
                           [&](const TensorRef& ref) { given.push_back(ref.storage); });
  const auto add_output = [&](std::size_t position, std::size_t element, const TensorRef& ref) {
    if (std::find(given.begin(), given.end(), ref.storage) != given.end()) return;
    fresh_.push_back(ref.storage);
    outputs_.push_back({position, element, ref, program.storages.at(ref.storage).bytes});
  };
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (const auto* ref = std::get_if<TensorRef>(&op.outputs[i])) {
      add_output(i, 0, *ref);
    } else if (const auto* list = std::get_if<program::Tensors>(&op.outputs[i])) {
      for (std::size_t k = 0; k < list->size(); ++k) {
        if ((*list)[k]) add_output(i, k, *(*list)[k]);
      }
    }
  }
  std::sort(fresh_.begin(), fresh_.end());
  fresh_.erase(std::unique(fresh_.begin(), fresh_.end()), fresh_.end());
  if (operators::has_out_variant(op)) into_ = find(op, "out");
  stack_.reserve(std::max(slots_.size(), op.outputs.size()) + 1);
}

ReplayCall::Slot ReplayCall::make_slot(const program::Argument& argument,
                                       const c10::TypePtr& type) const {
  Slot slot{Slot::Kind::kPlain, {}, {}, {}};
  const c10::TypePtr element = list_element(type);
  const auto add = [&slot](const TensorRef* ref) {
    slot.refs.emplace_back(ref ? std::optional<TensorRef>(*ref) : std::nullopt);
    slot.shells.push_back(ref ? make_shell(placeholder(c10::kCPU), *ref) : at::Tensor());
  };
  if (const auto* ref = std::get_if<TensorRef>(&argument)) {
    slot.kind = Slot::Kind::kTensor;
    add(ref);
  } else if (element && without_optional(element)->kind() == c10::TypeKind::TensorType) {
    slot.kind = is_optional(element) ? Slot::Kind::kOptionalTensors : Slot::Kind::kTensors;
    if (const auto* list = std::get_if<program::Tensors>(&argument)) {
      for (const auto& ref : *list) add(ref ? &*ref : nullptr);
    } else if (std::holds_alternative<program::None>(argument) && is_optional(type)) {
      slot.kind = Slot::Kind::kPlain;
    } else if (const auto* ints = std::get_if<program::Ints>(&argument); !ints || !ints->empty()) {
      fail("a list of tensors was recorded as something else");
    }
  } else if (std::holds_alternative<program::None>(argument)) {
    if (type->kind() == c10::TypeKind::TensorType) slot.plain = at::Tensor();
  } else {
    slot.plain = plain_value(argument, type);
    if (slot.plain.isNone()) {
      fail(fmt::format("an argument does not fit its type {}", type->str()));
    }
  }
  return slot;
}

/// Finds the state that cuDNN's recurrent layers need to train with dropout.
void ReplayCall::find_dropout_state(const program::Operator& op) {
  if (op.name != "aten::_cudnn_rnn" && op.name != "aten::_cudnn_rnn_backward") return;
  const auto position = [this](const char* name) {
    const auto found = handle_.schema().argumentIndexWithName(name);
    if (!found) fail(fmt::format("no argument `{}`", name));
    return static_cast<std::size_t>(*found);
  };
  const auto* probability = std::get_if<double>(&op.arguments[position("dropout")]);
  const auto* train = std::get_if<bool>(&op.arguments[position("train")]);
  if (probability == nullptr || train == nullptr || !*train || *probability == 0) return;
  Slot& state = slots_[position("dropout_state")];
  state.kind = Slot::Kind::kDropoutState;
  state.plain = *probability;
}

const at::Tensor& ReplayCall::fill(Slot& slot, std::size_t i, const StorageTable& storages) const {
  at::Tensor& shell = slot.shells[i];
  if (!shell.defined()) return shell;
  const TensorRef& ref = *slot.refs[i];
  const c10::Storage& storage = storages[ref.storage];
  if (!storage) fail(fmt::format("storage {} is not there", ref.storage));
  // A shell is reused, which saves an allocation per argument, with two exceptions. A call that
  // writes may change its arguments' geometry (`t_`, `resize_`), and a shell's keys fix its device.
  if (writes_ || shell.device().type() != storage.device().type()) {
    shell = make_shell(storage, ref);
  } else {
    shell.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
  }
  return shell;
}

void ReplayCall::push_arguments(const StorageTable& storages) {
  for (Slot& slot : slots_) {
    switch (slot.kind) {
      case Slot::Kind::kPlain:
        stack_.push_back(slot.plain);
        break;
      case Slot::Kind::kTensor:
        stack_.emplace_back(fill(slot, 0, storages));
        break;
      case Slot::Kind::kTensors: {
        c10::List<at::Tensor> list;
        list.reserve(slot.shells.size());
        for (std::size_t i = 0; i < slot.shells.size(); ++i) {
          list.push_back(fill(slot, i, storages));
        }
        stack_.emplace_back(std::move(list));
        break;
      }
      case Slot::Kind::kDropoutState:
        stack_.emplace_back(
            cudnn_dropout_state(slot.plain.toDouble(), stack_.front().toTensor().device()));
        break;
      case Slot::Kind::kOptionalTensors: {
        c10::List<std::optional<at::Tensor>> list;
        list.reserve(slot.shells.size());
        for (std::size_t i = 0; i < slot.shells.size(); ++i) {
          const at::Tensor& shell = fill(slot, i, storages);
          list.push_back(shell.defined() ? std::optional<at::Tensor>(shell) : std::nullopt);
        }
        stack_.emplace_back(std::move(list));
        break;
      }
    }
  }
}

void ReplayCall::release_shells() {
  stack_.clear();
  for (Slot& slot : slots_) {
    for (at::Tensor& shell : slot.shells) {
      if (!shell.defined()) continue;
      shell.unsafeGetTensorImpl()->set_storage_keep_dtype(placeholder(shell.device().type()));
    }
  }
}

void ReplayCall::bind_outputs(StorageTable& storages) const {
  for (const Output& output : outputs_) {
    const c10::IValue& result = stack_[output.position];
    at::Tensor tensor;
    if (result.isTensor()) {
      tensor = result.toTensor();
    } else if (result.isTensorList()) {
      const c10::List<at::Tensor> list = result.toTensorList();
      if (output.element < list.size()) tensor = list.get(output.element);
    }
    if (!tensor.defined()) fail(fmt::format("result {} is undefined", output.position));
    const TensorRef& ref = output.ref;
    if (!same_layout(tensor, ref) || tensor.storage_offset() != ref.offset ||
        tensor.scalar_type() != capture::scalar_type(ref.dtype)) {
      fail(fmt::format(
          "result {} is {}, the program says {}",
          output.position,
          geometry(tensor.sizes(), tensor.strides(), tensor.storage_offset(), tensor.scalar_type()),
          geometry(ref.sizes, ref.strides, ref.offset, capture::scalar_type(ref.dtype))));
    }
    const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
    if (bytes != output.storage_bytes) {
      fail(fmt::format("result {} has {} bytes, the program says {}",
                       output.position,
                       bytes,
                       output.storage_bytes));
    }
    storages[ref.storage] = tensor.storage();
  }
}

void ReplayCall::run(StorageTable& storages, bool into_given) {
  struct Release {
    ReplayCall& call;
    ~Release() { call.release_shells(); }
  } release{*this};
  push_arguments(storages);
  if (into_given) {
    const Output& result = outputs_.front();
    if (!into_ || !storages[result.ref.storage]) fail("there is nowhere to write its result to");
    stack_.emplace_back(make_shell(storages[result.ref.storage], result.ref));
    into_->callBoxed(stack_);
  } else {
    handle_.callBoxed(stack_);
  }
  bind_outputs(storages);
}

void ReplayCall::fail(const std::string& what) const {
  throw Error(ErrorCode::kInternal, "operator {} ({}): {}", id_, name_, what);
}

}  // namespace elixir::replay
