// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/export.h"

#include <exception>
#include <filesystem>
#include <map>

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "train/weights/safetensors.h"

namespace elixir::train {
namespace {

/// The module that owns the attribute `name`, and the attribute's own name.
std::pair<torch::jit::Module, std::string> owner_of(torch::jit::Module module,
                                                    const std::string& name) {
  std::size_t begin = 0;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    module = module.attr(name.substr(begin, dot - begin)).toModule();
    begin = dot + 1;
  }
  return {module, name.substr(begin)};
}

/// The model as it was before it was captured, which may have rewritten its graph for target and
/// mode.
torch::jit::Module loaded_again(const std::string& path) {
  try {
    return torch::jit::load(path, c10::Device(c10::kCPU));
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kFileUnreadable, "cannot read the model `{}` again", path)
        .note(error.what_without_backtrace())
        .help("put the file back and resume the finished run: it exports again");
  }
}

}  // namespace

ExportFormat export_format_of(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (suffix == ".safetensors") return ExportFormat::kSafetensors;
  if (suffix == ".pt") return ExportFormat::kTorchScript;
  throw Error(ErrorCode::kBadFlagValue, "--export `{}`: the suffix tells no format", path)
      .help("use .safetensors or .pt");
}

void export_safetensors(const std::string& path,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite) {
  std::vector<SafetensorsSource> sources;
  sources.reserve(model.size());
  for (const StateTensor& each : model) {
    sources.push_back({each.name, each.dtype, each.sizes, each.read});
  }
  write_safetensors(path, std::move(sources), {{"format", "pt"}}, overwrite);
}

void export_torchscript(const std::string& path,
                        const std::string& model_path,
                        const program::Program& program,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite) {
  torch::jit::Module module = loaded_again(model_path);
  std::map<std::string, std::vector<std::string>> names;
  for (const program::Parameter& each : program.parameters) names[each.name] = each.names;
  for (const program::Buffer& each : program.buffers) names[each.name] = each.names;
  for (const StateTensor& tensor : model) {
    at::Tensor value = tensor.read().detach();
    for (const std::string& name : names.at(tensor.name)) {
      auto owner = owner_of(module, name);
      // One tensor under all its names: two that share memory would be no tie.
      value.set_requires_grad(owner.first.attr(owner.second).toTensor().requires_grad());
      owner.first.setattr(owner.second, value);
    }
  }
  std::vector<c10::IValue> inputs;
  for (const program::Input& input : program.inputs) {
    inputs.emplace_back(at::empty(
        input.tensor.sizes, at::TensorOptions().dtype(capture::scalar_type(input.tensor.dtype))));
  }
  module.store_traced_inputs("forward", inputs);
  write_file_streamed(path, overwrite, [&](const Sink& sink) {
    // The exporter writes in its destructor, too, which must not throw: a failure is kept until it
    // has ended.
    std::exception_ptr failure;
    torch::jit::ExportModule(module, [&](const void* data, std::size_t bytes) {
      try {
        if (!failure) sink({static_cast<const char*>(data), bytes});
      } catch (...) {
        failure = std::current_exception();
      }
      return bytes;
    });
    if (failure) std::rethrow_exception(failure);
  });
}

void export_model(const std::string& path,
                  const std::string& model_path,
                  const program::Program& program,
                  const std::vector<StateTensor>& model,
                  Overwrite overwrite) {
  if (export_format_of(path) == ExportFormat::kSafetensors) {
    export_safetensors(path, model, overwrite);
  } else {
    export_torchscript(path, model_path, program, model, overwrite);
  }
}

}  // namespace elixir::train
