// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/loaded_module.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include "capture/archive/source_check.h"
#include "capture/record/graph/script_operators.h"
#include "capture/record/refused/allowed_operators.h"
#include "capture/record/refused/arithmetic_trap.h"
#include "capture/record/refused/load_scope.h"
#include "core/deep_stack.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

/// Replaces tensors by tensors on `device`. Tensors that shared memory in the archive share it
/// again.
class Replacer {
 public:
  Replacer(const Archive& archive, c10::Device device, std::optional<at::ScalarType> floating)
      : archive_(archive), device_(device), floating_(floating) {}

  LoadedTensor replace(const at::Tensor& original, bool is_parameter) {
    LoadedTensor loaded;
    loaded.is_parameter = is_parameter;
    loaded.data = data_of(original);
    const at::Tensor& memory = memory_of(original, loaded.data, is_parameter);
    loaded.tensor = at::empty({0}, memory.options());
    loaded.tensor.set_(
        memory.storage(), original.storage_offset(), original.sizes(), original.strides());
    if (original.requires_grad()) loaded.tensor.requires_grad_(true);
    return loaded;
  }

  /// Whether a replaced parameter or buffer used the tensor's memory.
  [[nodiscard]] bool has_memory_for(const at::Tensor& tensor) const {
    return memory_.count(tensor.storage().unsafeGetStorageImpl()) != 0;
  }

  /// Reads the data of a tensor that is neither parameter nor buffer, because it stays real.
  void fill(const at::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage() || !tensor.is_cpu()) return;
    if (const auto range = data_of(tensor)) {
      archive_.fetch_weights(*range, tensor.storage().mutable_data(), tensor.storage().nbytes());
    } else if (tensor.storage().nbytes() > 0 && tensor.storage().data() == nullptr) {
      throw Error(ErrorCode::kBufferWithoutData,
                  "a tensor of the model that is neither parameter nor buffer has no data in {}",
                  archive_.path())
          .help("register it as a buffer, or export the model from the CPU");
    }
  }

 private:
  [[nodiscard]] std::optional<ByteRange> data_of(const at::Tensor& tensor) const {
    if (!tensor.is_cpu()) return std::nullopt;
    const auto range = archive_.skipped_at(tensor.storage().data());
    if (range) archive_.check_weights(*range, tensor.storage().nbytes());
    return range;
  }

  const at::Tensor& memory_of(const at::Tensor& original,
                              const std::optional<ByteRange>& data,
                              bool is_parameter) {
    auto [found, fresh] = memory_.try_emplace(original.storage().unsafeGetStorageImpl());
    if (!fresh) return found->second;
    const auto elements = static_cast<std::int64_t>(original.storage().nbytes()) /
                          static_cast<std::int64_t>(original.element_size());
    const at::ScalarType dtype =
        floating_ && original.is_floating_point() ? *floating_ : original.scalar_type();
    if (device_.is_meta()) {
      found->second = at::empty({elements}, at::TensorOptions().dtype(dtype).device(device_));
    } else {
      const at::Tensor host =
          at::zeros({elements}, at::TensorOptions().dtype(original.scalar_type()));
      if (!is_parameter && data) {
        archive_.fetch_weights(*data, host.mutable_data_ptr(), original.storage().nbytes());
      }
      found->second = host.to(device_, dtype);
    }
    return found->second;
  }

  const Archive& archive_;
  c10::Device device_;
  std::optional<at::ScalarType> floating_;
  std::unordered_map<const c10::StorageImpl*, at::Tensor> memory_;
};

/// Numbers and texts. A list of them needs no search.
bool is_plain(const c10::Type& type) {
  return type.kind() == c10::TypeKind::IntType || type.kind() == c10::TypeKind::FloatType ||
         type.kind() == c10::TypeKind::BoolType || type.kind() == c10::TypeKind::StringType;
}

using Replacement = std::function<at::Tensor(const at::Tensor&)>;

/// Replaces, in place, every tensor that can be reached from `root` through attributes, lists,
/// dictionaries and tuples. Needed because scripted recurrent layers also hold their weights in a
/// list. Uses a worklist, because a file can nest objects to any depth.
void replace_tensors(const c10::IValue& root, const Replacement& replacement) {
  std::vector<c10::IValue> open{root};
  std::unordered_set<const void*> seen;
  const auto replaced = [&](const c10::IValue& value) -> c10::IValue {
    if (value.isTensor()) return value.toTensor().defined() ? replacement(value.toTensor()) : value;
    if (value.isObject() || value.isTuple() || value.isList() || value.isGenericDict()) {
      open.push_back(value);
    }
    return value;
  };
  while (!open.empty()) {
    const c10::IValue value = std::move(open.back());
    open.pop_back();
    if (!seen.insert(value.internalToPointer()).second) continue;
    if (value.isObject()) {
      const c10::intrusive_ptr<c10::ivalue::Object> object = value.toObject();
      for (std::size_t i = 0; i < object->slots().size(); ++i) {
        object->setSlot(i, replaced(object->getSlot(i)));
      }
    } else if (value.isTuple()) {
      const c10::intrusive_ptr<c10::ivalue::Tuple> tuple = value.toTuple();
      for (std::size_t i = 0; i < tuple->elements().size(); ++i) {
        tuple->unsafeSetElement(i, replaced(tuple->elements()[i]));
      }
    } else if (value.isList()) {
      c10::List<c10::IValue> list = value.toList();
      if (is_plain(*list.elementType())) continue;
      for (std::size_t i = 0; i < list.size(); ++i) list.set(i, replaced(list.get(i)));
    } else {
      for (const auto& entry : value.toGenericDict()) entry.setValue(replaced(entry.value()));
    }
  }
}

/// Replaces the parameters and buffers of the module by ones on `device`.
void put_on_device(LoadedModule& loaded,
                   const Archive& archive,
                   c10::Device device,
                   std::optional<at::ScalarType> floating) {
  const c10::AutoGradMode no_gradients(false);
  Replacer replacer(archive, device, floating);
  // Keyed by TensorImpl, because a tied weight is one TensorImpl with several names.
  std::unordered_map<const c10::TensorImpl*, std::pair<bool, std::size_t>> known;
  const auto take = [&](const std::string& name, const at::Tensor& tensor, bool is_parameter) {
    if (!tensor.defined()) return;
    std::vector<LoadedTensor>& list = is_parameter ? loaded.parameters : loaded.buffers;
    const auto [found, fresh] =
        known.try_emplace(tensor.unsafeGetTensorImpl(), is_parameter, list.size());
    if (fresh) list.push_back(replacer.replace(tensor, is_parameter));
    std::vector<LoadedTensor>& owner = found->second.first ? loaded.parameters : loaded.buffers;
    owner[found->second.second].names.push_back(name);
  };
  std::vector<at::Tensor> originals;  // keeps addresses unique while modules change
  for (const auto& parameter : loaded.module.named_parameters()) {
    originals.push_back(parameter.value);
    take(parameter.name, parameter.value, true);
  }
  for (const auto& buffer : loaded.module.named_buffers()) {
    originals.push_back(buffer.value);
    take(buffer.name, buffer.value, false);
  }

  const auto replacement = [&](const at::Tensor& tensor) -> at::Tensor {
    const auto found = known.find(tensor.unsafeGetTensorImpl());
    if (found != known.end()) {
      const auto& [is_parameter, position] = found->second;
      return (is_parameter ? loaded.parameters : loaded.buffers)[position].tensor;
    }
    if (tensor.has_storage() && replacer.has_memory_for(tensor)) {
      originals.push_back(tensor);
      return replacer.replace(tensor, false).tensor;
    }
    replacer.fill(tensor);
    return tensor;
  };
  replace_tensors(loaded.module._ivalue(), replacement);
}

}  // namespace

LoadedModule load_module(const std::shared_ptr<Archive>& archive,
                         c10::Device device,
                         std::optional<at::ScalarType> floating) {
  LoadedModule loaded;
  try {
    refuse_code_that_runs_on_loading(archive);
    run_on_deep_stack([&] {
      const LoadScope scope;
      const ArithmeticTrap trap;
      loaded.module = torch::jit::load(archive, c10::kCPU);
      refuse_what_is_not_allowed(loaded.module);
      guard_lists(loaded.module);
    });
    put_on_device(loaded, *archive, device, floating);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    throw Error(
        ErrorCode::kTruncatedArchive, "the TorchScript archive {} is damaged", archive->path())
        .help("export the model again with torch 2.11 or older")
        .note(torch_error != nullptr ? torch_error->what_without_backtrace() : error.what());
  }
  archive->forget_buffers();
  return loaded;
}

}  // namespace elixir::capture
