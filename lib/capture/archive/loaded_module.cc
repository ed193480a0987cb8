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

#include "core/deep_stack.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

/// Replaces tensors by ones on `device`; tensors that shared memory in the archive share it again.
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

  /// Fetches the data of a tensor that is neither parameter nor buffer: it stays real.
  void fill(const at::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage() || !tensor.is_cpu()) return;
    if (const auto range = data_of(tensor)) {
      archive_.fetch(*range, tensor.storage().mutable_data());
    } else if (tensor.storage().nbytes() > 0 && tensor.storage().data() == nullptr) {
      throw Error(ErrorCode::kBufferWithoutData,
                  "a tensor of the model that is neither parameter nor buffer has no data in " +
                      archive_.path(),
                  {"register it as a buffer, or export the model from the CPU"});
    }
  }

 private:
  [[nodiscard]] std::optional<ByteRange> data_of(const at::Tensor& tensor) const {
    if (!tensor.is_cpu()) return std::nullopt;
    auto range = archive_.skipped_at(tensor.storage().data());
    if (range && range->bytes < tensor.storage().nbytes()) range.reset();
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
        archive_.fetch({data->offset, original.storage().nbytes()}, host.mutable_data_ptr());
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

/// Takes parameters and buffers out of the module and puts theirs on `device` in.
void replace_tensors(LoadedModule& loaded,
                     const Archive& archive,
                     c10::Device device,
                     std::optional<at::ScalarType> floating) {
  const c10::AutoGradMode no_gradients(false);
  Replacer replacer(archive, device, floating);
  // Keyed by TensorImpl: a tied weight is one TensorImpl with several names.
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
  std::vector<at::Tensor> originals;  // keeps addresses unique while modules are rewritten
  for (const auto& parameter : loaded.module.named_parameters()) {
    originals.push_back(parameter.value);
    take(parameter.name, parameter.value, true);
  }
  for (const auto& buffer : loaded.module.named_buffers()) {
    originals.push_back(buffer.value);
    take(buffer.name, buffer.value, false);
  }

  std::unordered_set<const void*> visited;
  for (torch::jit::Module module : loaded.module.modules()) {
    if (!visited.insert(module._ivalue().get()).second) continue;
    for (const auto& attribute : module.named_attributes(/*recurse=*/false)) {
      if (!attribute.value.isTensor()) {
        attribute.value.visit([&](const c10::IValue& value) {
          if (value.isObject()) return true;  // submodules have their own turn
          if (value.isTensor()) replacer.fill(value.toTensor());
          return false;
        });
        continue;
      }
      const auto found = known.find(attribute.value.toTensor().unsafeGetTensorImpl());
      if (found == known.end()) continue;
      const auto& [is_parameter, position] = found->second;
      module.setattr(attribute.name,
                     (is_parameter ? loaded.parameters : loaded.buffers)[position].tensor);
    }
  }
}

}  // namespace

LoadedModule load_module(const std::shared_ptr<Archive>& archive,
                         c10::Device device,
                         std::optional<at::ScalarType> floating) {
  LoadedModule loaded;
  try {
    run_on_deep_stack([&] { loaded.module = torch::jit::load(archive, c10::kCPU); });
    replace_tensors(loaded, *archive, device, floating);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    throw Error(ErrorCode::kTruncatedArchive,
                "the TorchScript archive " + archive->path() + " is damaged",
                {"export the model again with torch 2.11 or older"})
        .note(torch_error != nullptr ? torch_error->what_without_backtrace() : error.what());
  }
  archive->forget_buffers();
  return loaded;
}

}  // namespace elixir::capture
