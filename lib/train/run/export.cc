// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/export.h"

#include <filesystem>
#include <map>
#include <string_view>

#include "core/error.h"
#include "train/weights/safetensors.h"

namespace elixir::train {

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
                        model::ModelFile archive,
                        const program::Program& program,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite) {
  std::map<std::string, std::vector<std::string>> names;
  for (const program::Parameter& each : program.parameters) names[each.name] = each.names;
  for (const program::Buffer& each : program.buffers) names[each.name] = each.names;
  model::ExportRequest request;
  for (const StateTensor& tensor : model) {
    request.tensors.push_back(
        {.names = names.at(tensor.name), .dtype = tensor.dtype, .sizes = tensor.sizes});
  }
  for (const program::Input& input : program.inputs) {
    request.inputs.push_back(
        {.name = input.name, .dtype = input.tensor.dtype, .sizes = input.tensor.sizes});
  }
  at::Tensor value;
  const auto bytes_of = [&](std::size_t i) {
    value = model[i].read().contiguous();
    return std::string_view(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
  };
  write_file_streamed(
      path, overwrite, [&](const Sink& sink) { archive.write_archive(request, bytes_of, sink); });
}

void export_model(const std::string& path,
                  const model::ModelFile& archive,
                  const program::Program& program,
                  const std::vector<StateTensor>& model,
                  Overwrite overwrite) {
  if (export_format_of(path) == ExportFormat::kSafetensors) {
    export_safetensors(path, model, overwrite);
  } else {
    export_torchscript(path, archive, program, model, overwrite);
  }
}

}  // namespace elixir::train
