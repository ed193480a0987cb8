// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include "capture/record/arguments/scalar_type.h"
#include "capture/record/refused/load_scope.h"
#include "capture/service/service.h"
#include "core/deep_stack.h"
#include "core/error.h"
#include "process/frames.h"

namespace elixir::capture {
namespace {

using model::Message;

/// The archive with its weights.
class WholeArchive final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit WholeArchive(std::shared_ptr<const model::DataFile> file) : file_(std::move(file)) {}
  [[nodiscard]] std::size_t size() const override { return file_->bytes(); }
  std::size_t read(std::uint64_t position,
                   void* buffer,
                   std::size_t bytes,
                   const char* /*what*/) const override {
    file_->read(position, bytes, buffer);
    return bytes;
  }

 private:
  std::shared_ptr<const model::DataFile> file_;
};

/// The extra files of an archive, as LibTorch writes them.
torch::jit::ExtraFilesMap extra_files_of(
    const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& archive) {
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

at::Tensor receive(const model::ExportRequest::Tensor& wanted, int questions) {
  const auto header = process::read_header(questions);
  require(header && static_cast<Message>(header->type) == Message::kBytes,
          "values of an export are missing");
  const at::Tensor value =
      at::empty(wanted.sizes, at::TensorOptions().dtype(scalar_type(wanted.dtype)));
  process::read_body_into(questions, *header, value.mutable_data_ptr(), value.nbytes());
  return value;
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
  const auto archive = std::make_shared<WholeArchive>(std::move(file));
  torch::jit::Module module;
  run_on_deep_stack([&] {
    const LoadScope scope;
    module = torch::jit::load(archive, c10::kCPU);
  });
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const std::string& name : request.tensors[i].names) {
      auto owner = owner_of(module, name);
      // One tensor under all its names: two that share memory would be no tie.
      values[i].set_requires_grad(owner.first.attr(owner.second).toTensor().requires_grad());
      owner.first.setattr(owner.second, values[i]);
    }
  }
  std::vector<c10::IValue> inputs;
  for (const model::InputSpec& input : request.inputs) {
    inputs.emplace_back(
        at::empty(input.sizes, at::TensorOptions().dtype(scalar_type(input.dtype))));
  }
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
