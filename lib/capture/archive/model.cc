// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <functional>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include "capture/archive/model_state.h"
#include "capture/record/arguments/scalar_type.h"
#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/meta_storage.h"
#include "capture/record/graph/script_operators.h"
#include "core/deep_stack.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

/// The shapes of the example inputs in a traced archive (values are not stored).
std::optional<std::vector<at::Tensor>> read_traced_inputs(const std::shared_ptr<Archive>& archive) {
  if (!archive->has_record("traced_inputs.pkl")) return std::nullopt;
  std::vector<at::Tensor> tensors;
  bool plain = true;
  const std::function<void(const c10::IValue&)> walk = [&](const c10::IValue& value) {
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
    } else if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) walk(element);
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef()) walk(element);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) walk(entry.value());
    } else {
      plain = false;
    }
  };
  try {
    caffe2::serialize::PyTorchStreamReader reader(archive);
    run_on_deep_stack([&] {
      walk(torch::jit::readArchiveAndTensors(
          "traced_inputs", "", "traced_inputs/", std::nullopt, std::nullopt, c10::kMeta, reader));
    });
  } catch (const std::exception&) {
    return std::nullopt;  // treated as missing, because the user can give shapes
  }
  if (!plain || tensors.empty()) return std::nullopt;
  return tensors;
}

const LoadedTensor* find_named(const std::vector<LoadedTensor>& tensors, const std::string& name) {
  for (const LoadedTensor& tensor : tensors) {
    for (const std::string& candidate : tensor.names) {
      if (candidate == name) return &tensor;
    }
  }
  return nullptr;
}

const LoadedTensor& named(const LoadedModule& loaded, const std::string& name) {
  if (const LoadedTensor* found = find_named(loaded.parameters, name)) return *found;
  if (const LoadedTensor* found = find_named(loaded.buffers, name)) return *found;
  throw Error(ErrorCode::kWeightsMismatch, "the model has no parameter or buffer '{}'", name);
}

}  // namespace

Model Model::load(const std::string& path) {
  return load(model::DataFile::open(path));
}

Model Model::load(std::shared_ptr<const model::DataFile> file) {
  install_meta_allocator();
  install_script_operators();
  Model model;
  model.state_ = std::make_shared<State>();
  model.state_->archive = Archive::open(std::move(file));
  model.state_->loaded = load_module(model.state_->archive, c10::kMeta);
  model.state_->traced = read_traced_inputs(model.state_->archive);
  return model;
}

const std::string& Model::path() const {
  return state_->archive->path();
}
const torch::jit::Module& Model::module() const {
  return state_->loaded.module;
}

std::vector<std::string> Model::input_names() const {
  const auto forward = state_->loaded.module.find_method("forward");
  if (!forward) {
    throw Error(ErrorCode::kUnsupportedModel, "the module has no forward method");
  }
  std::vector<std::string> names;
  const auto& arguments = forward->function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
  return names;
}

std::optional<std::vector<InputSpec>> Model::traced_inputs() const {
  if (!state_->traced) return std::nullopt;
  const std::vector<std::string> names = input_names();
  std::vector<InputSpec> specs;
  for (std::size_t i = 0; i < state_->traced->size(); ++i) {
    const at::Tensor& tensor = (*state_->traced)[i];
    const std::string name = i < names.size() ? names[i] : "target";
    const auto dtype = dtype_of(tensor.scalar_type());
    if (!dtype) {
      throw Error(ErrorCode::kUnsupportedModel,
                  "input '{}' has dtype {}, which programs do not hold",
                  name,
                  c10::toString(tensor.scalar_type()))
          .help(kOtherDTypes)
          .help("convert the input to it before forward, and export the model again");
    }
    specs.push_back({.name = name, .dtype = *dtype, .sizes = tensor.sizes().vec()});
  }
  return specs;
}

std::optional<std::string> Model::extra_file(const std::string& name) const {
  const std::string record = "extra/" + name;
  if (!state_->archive->has_record(record)) return std::nullopt;
  return state_->archive->record(record);
}

bool Model::has_data(const std::string& name) const {
  const LoadedTensor& loaded = named(state_->loaded, name);
  return loaded.data || loaded.tensor.numel() == 0;
}

at::Tensor Model::read(const std::string& name) const {
  const LoadedTensor& loaded = named(state_->loaded, name);
  if (loaded.tensor.numel() == 0) return at::empty_like(loaded.tensor, at::Device(at::kCPU));
  if (!loaded.data) {
    throw Error(ErrorCode::kBufferWithoutData,
                "'{}' has no data in {} (it was saved from the meta device)",
                name,
                path())
        .help("give the data with --weights, or export the model again from the CPU");
  }
  const auto bytes = static_cast<std::int64_t>(loaded.tensor.storage().nbytes());
  const at::Tensor memory = at::empty({bytes}, at::TensorOptions().dtype(at::kByte));
  state_->archive->file().read(*loaded.data,
                               loaded.first_byte,
                               static_cast<std::uint64_t>(bytes),
                               memory.mutable_data_ptr());
  at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(loaded.tensor.scalar_type()));
  tensor.set_(memory.storage(),
              loaded.tensor.storage_offset(),
              loaded.tensor.sizes(),
              loaded.tensor.strides());
  return tensor;
}

}  // namespace elixir::capture
