// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/recorder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <ATen/ops/empty.h>

#include "capture/record/arguments/call.h"
#include "capture/record/arguments/values.h"
#include "core/error.h"
#include "core/files.h"
#include "operators/flops.h"
#include "program/arguments/writes.h"

namespace elixir::capture {
namespace {

using program::Argument;
using program::Category;
using program::StorageId;

std::uint64_t next_recorder_number() {
  static std::atomic<std::uint64_t> number{0};
  return ++number;
}

/// Operators tagged as random draw nothing if their probability is 0.
bool draws(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  const auto& schema = op.schema();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = schema.arguments()[i].name();
    if (name == "dropout_p" && arguments[i].isDouble()) return arguments[i].toDouble() > 0;
  }
  return true;
}

/// The device among a call's arguments, if it names one.
const program::DeviceName* named_device(const program::Operator& call) {
  for (const Argument& argument : call.arguments) {
    if (const auto* device = std::get_if<program::DeviceName>(&argument)) return device;
  }
  return nullptr;
}

/// On CUDA, memory-efficient attention keeps its random seed and offset on the host.
bool returns_on_host(const program::Operator& call, std::size_t result) {
  return call.name == "aten::_scaled_dot_product_efficient_attention" && result >= 2;
}

std::string digest_of(const at::Tensor& constant) {
  const at::Tensor host = constant.is_cpu() ? constant : constant.cpu();
  const c10::Storage& storage = host.storage();
  return sha256_hex({static_cast<const char*>(storage.data()), storage.nbytes()});
}

}  // namespace

std::vector<std::size_t> written_arguments(const c10::OperatorHandle& op,
                                           c10::ArrayRef<c10::IValue> arguments) {
  std::vector<std::size_t> positions;
  const auto& schema = op.schema();
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) positions.push_back(i);
  }
  if (program::updates_statistics(op.operator_name().name)) {
    const Call call(schema, arguments);
    if (!call.flag("training")) return positions;
    for (const std::string_view name : program::kStatistics) {
      positions.push_back(call.position(name));
    }
  }
  return positions;
}

Recorder::Recorder(const program::Target& target, CaptureOn where)
    : device_(device_of(target)), where_(where), number_(next_recorder_number()) {
  set_release_listener(this);
}

Recorder::~Recorder() {
  set_release_listener(nullptr);
}

void Recorder::on_release(const MetaBlock& block) {
  if (finished_ || block.owner != number_) return;
  storages[static_cast<std::size_t>(block.id)].freed_after =
      static_cast<program::OperatorId>(operators.size()) - 1;
}

program::StorageId Recorder::id_of(const at::Tensor& tensor) const {
  const c10::Storage& storage = tensor.storage();
  if (const MetaBlock* block = block_of(storage)) {
    return block->owner == number_ ? block->id : -1;
  }
  const auto found = real_.find(storage.unsafeGetStorageImpl());
  return found == real_.end() ? -1 : found->second;
}

program::StorageId Recorder::add(const at::Tensor& tensor) {
  if (!tensor.has_storage()) {
    throw Error(ErrorCode::kUnsupportedModel,
                "a tensor without storage (sparse or opaque layout) cannot be captured");
  }
  const auto id = static_cast<StorageId>(storages.size());
  program::Storage record;
  record.id = id;
  record.freed_after = -2;  // replaced at its release, or by finish()
  storages.push_back(record);
  versions_.push_back(0);
  const c10::Storage& storage = tensor.storage();
  if (MetaBlock* block = block_of(storage)) {
    block->owner = number_;
    block->id = id;
  } else {
    real_[storage.unsafeGetStorageImpl()] = id;
    live_.push_back({id, storage.getWeakStorageImpl()});
  }
  return id;
}

void Recorder::poll_releases() {
  const auto last = static_cast<program::OperatorId>(operators.size()) - 1;
  const auto gone = std::remove_if(live_.begin(), live_.end(), [&](const Live& entry) {
    if (!entry.storage.expired()) return false;
    storages[static_cast<std::size_t>(entry.id)].freed_after = last;
    real_.erase(entry.storage._unsafe_get_target());
    return true;
  });
  live_.erase(gone, live_.end());
}

program::TensorRef Recorder::declare(const at::Tensor& tensor, Category category) {
  if (id_of(tensor) < 0) {
    const StorageId id = add(tensor);
    storages[static_cast<std::size_t>(id)].category = category;
  }
  return ref(tensor);
}

program::TensorRef Recorder::ref(const at::Tensor& tensor) {
  StorageId id = id_of(tensor);
  if (id < 0) {
    id = add(tensor);
    classify_unknown(id, tensor);
  }
  program::Storage& storage = storages[static_cast<std::size_t>(id)];
  storage.bytes = std::max(storage.bytes, static_cast<std::int64_t>(tensor.storage().nbytes()));
  program::TensorRef result;
  result.storage = id;
  result.version = versions_[static_cast<std::size_t>(id)];
  result.sizes = tensor.sizes().vec();
  result.strides = tensor.strides().vec();
  result.offset = tensor.storage_offset();
  result.dtype = to_dtype(tensor.scalar_type());
  result.wrapped_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  result.conjugate = tensor.is_conj();
  result.negative = tensor.is_neg();
  return result;
}

void Recorder::classify_unknown(StorageId id, const at::Tensor& tensor) {
  program::Storage& storage = storages[static_cast<std::size_t>(id)];
  if (!in_call_) {  // first seen among results, so the call allocated it
    storage.allocated_at = static_cast<program::OperatorId>(operators.size()) - 1;
    storage.on_host = device_.is_cuda() && tensor.is_cpu();
    return;
  }
  if (tensor.is_meta()) {
    throw Error(ErrorCode::kUnsupportedModel,
                "a tensor without data is neither parameter, buffer, input nor result of a call");
  }
  storage.category = Category::kConstant;
  storage.content_digest = digest_of(tensor);
  storage.on_host = device_.is_cuda() && tensor.is_cpu();
  constants.emplace(id, tensor.detach());
  live_.pop_back();  // kept alive from now on
}

program::Argument Recorder::argument(const c10::IValue& value) {
  if (value.isNone()) return program::None{};
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return program::None{};
    return ref(value.toTensor());
  }
  if (value.isTensorList() || is_optional_tensors(value)) {
    program::Tensors tensors;
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isTensor() && element.toTensor().defined()) {
        tensors.emplace_back(ref(element.toTensor()));
      } else {
        tensors.emplace_back(std::nullopt);
      }
    }
    return tensors;
  }
  if (value.isBool()) return value.toBool();
  if (value.isInt() || value.isSymInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isComplexDouble()) return std::complex<double>(value.toComplexDouble());
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) {
    const c10::Device device = value.toDevice().is_meta() ? device_ : value.toDevice();
    return program::DeviceName{device.is_cuda() ? "cuda:0" : device.str()};
  }
  if (value.isList()) {
    program::Ints ints;
    program::Doubles doubles;
    program::Bools bools;
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isBool()) {
        bools.push_back(element.toBool());
      } else if (element.isInt() || element.isSymInt()) {
        ints.push_back(element.toInt());
      } else if (element.isDouble()) {
        doubles.push_back(element.toDouble());
      } else {
        throw Error(ErrorCode::kUnsupportedModel,
                    "a list of {} among the arguments of an operator",
                    element.tagKind());
      }
    }
    if (!doubles.empty()) {
      if (!ints.empty()) {  // Scalar[] with both kinds
        throw Error(ErrorCode::kUnsupportedModel, "a list of mixed numbers among arguments");
      }
      return doubles;
    }
    if (!bools.empty()) return bools;
    return ints;
  }
  throw Error(ErrorCode::kUnsupportedModel,
              "a value of type {} among the arguments of an operator",
              value.tagKind());
}

void Recorder::begin(const c10::OperatorHandle& op,
                     const torch::jit::Stack& stack,
                     program::Phase phase,
                     std::int32_t module) {
  poll_releases();
  const std::size_t count = op.schema().arguments().size();
  const c10::ArrayRef<c10::IValue> arguments(stack.data() + stack.size() - count, count);
  program::Operator call;
  call.id = static_cast<program::OperatorId>(operators.size());
  call.name = op.operator_name().name;
  call.overload = op.operator_name().overload_name;
  call.phase = phase;
  call.module = module;
  call.arguments.reserve(count);
  in_call_ = true;
  for (const c10::IValue& value : arguments) call.arguments.push_back(argument(value));
  in_call_ = false;
  written_.clear();
  for (const std::size_t position : written_arguments(op, arguments)) {
    call.writes = true;
    for_each_tensor(arguments[position], [&](const at::Tensor& tensor) {
      const StorageId id = id_of(tensor);
      if (std::find(written_.begin(), written_.end(), id) == written_.end()) written_.push_back(id);
    });
  }
  draws_random |= draws(op, arguments);
  operators.push_back(std::move(call));
}

void Recorder::end(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  for (const StorageId id : written_) ++versions_[static_cast<std::size_t>(id)];
  const std::size_t count = op.schema().returns().size();
  const auto first_new = static_cast<StorageId>(storages.size());
  std::vector<Argument> outputs;
  outputs.reserve(count);
  for (std::size_t i = stack.size() - count; i < stack.size(); ++i) {
    outputs.push_back(argument(stack[i]));
  }
  program::Operator& call = operators.back();
  call.outputs = std::move(outputs);
  call.flops = operators::flops_of(call);
  if (where_ != CaptureOn::kMeta || !device_.is_cuda()) return;
  // On meta, the tensors of shape arithmetic are real and on the CPU, wherever the target has them.
  // A copy of a device tensor to the host is on meta.
  const auto* named = named_device(call);
  const bool to_host = named != nullptr && named->name == "cpu";
  for (auto id = static_cast<std::size_t>(first_new); id < storages.size(); ++id) {
    if (storages[id].on_host || to_host) storages[id].on_host = runs_on_host(call);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const auto* tensor = std::get_if<program::TensorRef>(&call.outputs[i]);
    if (tensor != nullptr && returns_on_host(call, i)) {
      storages[static_cast<std::size_t>(tensor->storage)].on_host = true;
    }
  }
}

bool Recorder::runs_on_host(const program::Operator& call) const {
  bool any_tensor = false;
  bool device_tensor = false;
  if (const auto* device = named_device(call)) return device->name == "cpu";
  program::for_each_tensor(call.arguments, [&](const program::TensorRef& tensor) {
    any_tensor = true;
    device_tensor |= !storages[static_cast<std::size_t>(tensor.storage)].on_host;
  });
  return any_tensor ? !device_tensor : true;  // a factory without device makes a CPU tensor
}

void Recorder::used_on_device(const at::Tensor& tensor) {
  const StorageId id = id_of(tensor);
  if (id >= 0) storages[static_cast<std::size_t>(id)].on_host = false;
}

std::int32_t Recorder::version_of(StorageId id) const {
  return versions_[static_cast<std::size_t>(id)];
}

program::OperatorId Recorder::allocated_at(const at::Tensor& tensor) const {
  const StorageId id = tensor.has_storage() ? id_of(tensor) : -1;
  return id < 0 ? -1 : storages[static_cast<std::size_t>(id)].allocated_at;
}

void Recorder::finish() {
  poll_releases();
  finished_ = true;
  for (program::Storage& storage : storages) {
    if (storage.freed_after == -2) {
      storage.freed_after = static_cast<program::OperatorId>(operators.size());
    }
  }
}

}  // namespace elixir::capture
