// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/export.h>

#include "capture/archive/archive.h"
#include "capture/archive/loaded_module.h"
#include "capture/record/arguments/scalar_type.h"
#include "capture/service/service.h"
#include "core/error.h"
#include "process/frames.h"

namespace elixir::capture {
namespace {

using model::Message;

/// The extra files of an archive, as LibTorch writes them.
torch::jit::ExtraFilesMap extra_files_of(const std::shared_ptr<Archive>& archive) {
  constexpr std::string_view kFolder = "extra/";
  caffe2::serialize::PyTorchStreamReader reader(archive);
  torch::jit::ExtraFilesMap files;
  for (const std::string& record : reader.getAllRecords()) {
    if (record.rfind(kFolder, 0) != 0) continue;
    const auto [data, bytes] = reader.getRecord(record);
    files.emplace(record.substr(kFolder.size()),
                  std::string(static_cast<const char*>(data.get()), bytes));
  }
  return files;
}

at::Tensor receive(const model::ExportRequest::Tensor& wanted, int questions) {
  const auto header = process::read_header(questions);
  require(header && static_cast<Message>(header->type) == Message::kBytes,
          "values of an export are missing");
  const at::Tensor value =
      at::empty(wanted.sizes, at::TensorOptions().dtype(scalar_type(wanted.dtype)));
  process::read_body_into(questions, *header, value.mutable_data_ptr(), value.nbytes());
  return value;
}

/// The one dtype of all floating-point values, as --precision makes it. nullopt: they have several,
/// those of the archive.
std::optional<at::ScalarType> common_dtype(const std::vector<at::Tensor>& values) {
  std::optional<at::ScalarType> common;
  for (const at::Tensor& value : values) {
    if (!value.is_floating_point()) continue;
    if (common && *common != value.scalar_type()) return std::nullopt;
    common = value.scalar_type();
  }
  return common;
}

/// An expanded dimension has the memory of one element.
void fill(at::Tensor to, at::Tensor value) {
  for (std::int64_t d = 0; d < to.dim(); ++d) {
    if (to.stride(d) != 0 || to.size(d) <= 1) continue;
    to = to.narrow(d, 0, 1);
    value = value.narrow(d, 0, 1);
  }
  to.copy_(value);
}

/// Gathers the small pieces in which LibTorch writes.
class Pieces {
 public:
  explicit Pieces(int answers) : answers_(answers) {}
  void add(const void* data, std::size_t bytes) {
    pending_.append(static_cast<const char*>(data), bytes);
    if (pending_.size() >= kEnough) send();
  }
  void send() {
    if (pending_.empty()) return;
    process::write_frame(answers_, static_cast<std::uint32_t>(Message::kBytes), pending_);
    pending_.clear();
  }

 private:
  static constexpr std::size_t kEnough = std::size_t{1} << 20;
  int answers_;
  std::string pending_;
};

}  // namespace

void write_archive(std::shared_ptr<const model::DataFile> file,
                   const model::ExportRequest& request,
                   int questions,
                   int answers) {
  // All values are read before anything can fail, so that the next question is found.
  std::vector<at::Tensor> values;
  for (const auto& tensor : request.tensors) values.push_back(receive(tensor, questions));
  const std::shared_ptr<Archive> archive = Archive::open(std::move(file));
  const LoadedModule loaded = load_module(archive, c10::kCPU, common_dtype(values));
  std::map<std::string, at::Tensor> by_name;
  for (const auto* tensors : {&loaded.parameters, &loaded.buffers}) {
    for (const LoadedTensor& tensor : *tensors) {
      for (const std::string& name : tensor.names) by_name.emplace(name, tensor.tensor);
    }
  }
  {
    // In place: lists, other attributes and other buffers may hold the same memory.
    const c10::AutoGradMode no_gradients(false);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const at::Tensor& old = by_name.at(request.tensors[i].names.front());
      require(old.sizes() == values[i].sizes(), "a value of an export has another shape");
      fill(old, values[i]);
    }
  }
  std::vector<c10::IValue> inputs;
  for (const model::InputSpec& input : request.inputs) {
    inputs.emplace_back(
        at::empty(input.sizes, at::TensorOptions().dtype(scalar_type(input.dtype))));
  }
  torch::jit::Module module = loaded.module;
  module.store_traced_inputs("forward", inputs);
  Pieces pieces(answers);
  const auto write = [&](const void* data, std::size_t bytes) {
    pieces.add(data, bytes);
    return bytes;
  };
  torch::jit::ExportModule(module, write, extra_files_of(archive));
  pieces.send();
  process::write_frame(answers, static_cast<std::uint32_t>(Message::kDone), "");
}

}  // namespace elixir::capture
