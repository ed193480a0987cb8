// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/loaded_module.h"

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/import.h>

#include "capture/archive/persistent_buffers.h"
#include "capture/record/refused/allowed_operators.h"
#include "capture/record/refused/load_scope.h"
#include "core/deep_stack.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

/// The bytes of its storage that a tensor reaches over.
struct Extent {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] bool overlaps(const Extent& other) const {
    return begin < other.end && other.begin < end;
  }
  [[nodiscard]] bool contains(const Extent& other) const {
    return begin <= other.begin && other.end <= end;
  }
};

/// A tensor beyond its storage is damage, for which LibTorch's error does.
Extent extent_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  const std::size_t end = at::detail::computeStorageNbytes(
      tensor.sizes(), tensor.strides(), tensor.element_size(), tensor.storage_offset());
  TORCH_CHECK(end <= tensor.storage().nbytes(), "a tensor reaches beyond its storage");
  return {static_cast<std::size_t>(tensor.storage_offset()) * tensor.element_size(), end};
}

/// Replaces tensors by tensors on `device`. A parameter gets memory of its own, because it moves
/// and is updated alone. Other tensors that shared memory in the archive share it again.
class Replacer {
 public:
  Replacer(const Archive& archive, c10::Device device, std::optional<at::ScalarType> floating)
      : archive_(archive), device_(device), floating_(floating) {}

  /// Throws kUnsupportedModel when it shares values with another parameter.
  LoadedTensor replace_parameter(const std::string& name, const at::Tensor& original) {
    if (!original.is_non_overlapping_and_dense()) {
      throw Error(ErrorCode::kUnsupportedModel, "parameter `{}` is not dense", name)
          .help("export the model with a contiguous one: torch.nn.Parameter(w.contiguous())");
    }
    refuse_lazy("parameter", name, original);
    const Extent extent = extent_of(original);
    refuse_shared(fmt::format("parameter `{}`", name), original);
    LoadedTensor loaded;
    loaded.is_parameter = true;
    loaded.data = data_of(original);
    loaded.first_byte = extent.begin;
    const at::Tensor memory = zeros(original, original.numel());
    loaded.tensor = view(memory, original, 0);
    parameters_[original.storage().unsafeGetStorageImpl()].push_back(
        {name, extent, original.scalar_type(), memory});
    return loaded;
  }

  /// Throws kUnsupportedModel when it shares values with a parameter.
  LoadedTensor replace_buffer(const std::string& name, const at::Tensor& original) {
    refuse_lazy("buffer", name, original);
    refuse_shared(fmt::format("buffer `{}`", name), original);
    LoadedTensor loaded;
    loaded.data = data_of(original);
    loaded.tensor = view(memory_of(original, loaded.data), original, original.storage_offset());
    return loaded;
  }

  /// Of a tensor that is neither parameter nor buffer: a view of the memory of one, or itself with
  /// its data, because it stays real.
  at::Tensor replace_other(const at::Tensor& tensor) {
    if (!tensor.has_storage()) return tensor;
    if (const PlacedParameter* parameter = parameter_that_shares(tensor)) {
      const Extent extent = extent_of(tensor);
      if (!parameter->extent.contains(extent) || tensor.scalar_type() != parameter->dtype) {
        throw shared_memory("a tensor that is neither parameter nor buffer", *parameter);
      }
      const std::size_t first = (extent.begin - parameter->extent.begin) / tensor.element_size();
      return view(parameter->memory, tensor, static_cast<std::int64_t>(first));
    }
    const auto shared = memory_.find(tensor.storage().unsafeGetStorageImpl());
    if (shared != memory_.end()) return view(shared->second, tensor, tensor.storage_offset());
    fill(tensor);
    return tensor;
  }

 private:
  struct PlacedParameter {
    std::string name;
    Extent extent;  ///< in the archive's storage
    at::ScalarType dtype = at::kFloat;
    at::Tensor memory;
  };

  /// PyTorch's lazy bits: the values in memory are not those of the tensor.
  static void refuse_lazy(const char* what, const std::string& name, const at::Tensor& tensor) {
    if (!tensor.is_conj() && !tensor.is_neg()) return;
    throw Error(ErrorCode::kUnsupportedModel,
                "{} `{}` is a lazy {} of its memory",
                what,
                name,
                tensor.is_conj() ? "conjugate" : "negative")
        .help("export the model with x.resolve_conj().resolve_neg()");
  }

  static Error shared_memory(const std::string& what, const PlacedParameter& parameter) {
    return Error(ErrorCode::kUnsupportedModel,
                 "{} shares memory with parameter `{}`",
                 what,
                 parameter.name)
        .help(
            "use that parameter in both places, or export the model with a copy: "
            "x.detach().clone()");
  }

  [[nodiscard]] const PlacedParameter* parameter_that_shares(const at::Tensor& tensor) const {
    const auto found = parameters_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == parameters_.end()) return nullptr;
    const Extent extent = extent_of(tensor);
    for (const PlacedParameter& parameter : found->second) {
      if (parameter.extent.overlaps(extent)) return &parameter;
    }
    return nullptr;
  }

  void refuse_shared(const std::string& what, const at::Tensor& tensor) const {
    if (const PlacedParameter* other = parameter_that_shares(tensor)) {
      throw shared_memory(what, *other);
    }
  }

  static at::Tensor view(const at::Tensor& memory, const at::Tensor& of, std::int64_t offset) {
    at::Tensor tensor = at::empty({0}, memory.options());
    tensor.set_(memory.storage(), offset, of.sizes(), of.strides());
    if (of.requires_grad()) tensor.requires_grad_(true);
    return tensor;
  }

  /// Reads the data of a tensor that stays real.
  void fill(const at::Tensor& tensor) const {
    if (!tensor.is_cpu()) return;
    if (const auto range = data_of(tensor)) {
      archive_.file().read(*range, 0, tensor.storage().nbytes(), tensor.storage().mutable_data());
    } else if (tensor.storage().nbytes() > 0 && tensor.storage().data() == nullptr) {
      throw Error(ErrorCode::kBufferWithoutData,
                  "a tensor of the model that is neither parameter nor buffer has no data in {}",
                  archive_.path())
          .help("register it as a buffer, or export the model from the CPU");
    }
  }

  [[nodiscard]] std::optional<model::Record> data_of(const at::Tensor& tensor) const {
    if (!tensor.is_cpu()) return std::nullopt;
    const auto range = archive_.skipped_at(tensor.storage().data());
    if (range) archive_.file().check(*range, tensor.storage().nbytes());
    return range;
  }

  [[nodiscard]] at::ScalarType dtype_for(const at::Tensor& original) const {
    return floating_ && original.is_floating_point() ? *floating_ : original.scalar_type();
  }

  [[nodiscard]] at::Tensor zeros(const at::Tensor& original, std::int64_t elements) const {
    const auto options = at::TensorOptions().dtype(dtype_for(original)).device(device_);
    return device_.is_meta() ? at::empty({elements}, options) : at::zeros({elements}, options);
  }

  const at::Tensor& memory_of(const at::Tensor& original,
                              const std::optional<model::Record>& data) {
    auto [found, fresh] = memory_.try_emplace(original.storage().unsafeGetStorageImpl());
    if (!fresh) return found->second;
    const auto elements = static_cast<std::int64_t>(original.storage().nbytes()) /
                          static_cast<std::int64_t>(original.element_size());
    if (device_.is_meta() || !data) {
      found->second = zeros(original, elements);
    } else {
      const at::Tensor host =
          at::zeros({elements}, at::TensorOptions().dtype(original.scalar_type()));
      archive_.file().read(*data, 0, original.storage().nbytes(), host.mutable_data_ptr());
      found->second = host.to(device_, dtype_for(original));
    }
    return found->second;
  }

  const Archive& archive_;
  c10::Device device_;
  std::optional<at::ScalarType> floating_;
  std::unordered_map<const c10::StorageImpl*, std::vector<PlacedParameter>> parameters_;
  std::unordered_map<const c10::StorageImpl*, at::Tensor> memory_;  ///< of buffers
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
    if (fresh) {
      list.push_back(is_parameter ? replacer.replace_parameter(name, tensor)
                                  : replacer.replace_buffer(name, tensor));
    }
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
    originals.push_back(tensor);
    return replacer.replace_other(tensor);
  };
  replace_tensors(loaded.module._ivalue(), replacement);
}

}  // namespace

LoadedModule load_module(const std::shared_ptr<Archive>& archive,
                         c10::Device device,
                         std::optional<at::ScalarType> floating) {
  LoadedModule loaded;
  try {
    run_on_deep_stack([&] {
      const LoadScope scope;
      loaded.module = torch::jit::load(archive, c10::kCPU);
      refuse_what_is_not_allowed(loaded.module);
    });
    put_on_device(loaded, *archive, device, floating);
    mark_persistent(loaded, *archive);
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
