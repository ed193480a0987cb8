// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/service/service.h"

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "capture/archive/model_state.h"
#include "capture/archive/persistent_buffers.h"
#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/files.h"
#include "process/frames.h"
#include "process/place.h"
#include "program/document.h"

namespace elixir::capture {
namespace {

using model::Message;

constexpr std::uint64_t kMostQuestion = std::uint64_t{64} << 20;

model::StateEntry entry_of(const LoadedTensor& loaded) {
  const at::Tensor& tensor = loaded.tensor;
  const auto dtype = dtype_of(tensor.scalar_type());
  model::StateEntry entry;
  entry.names = loaded.names;
  // A dtype that programs do not hold is refused when it is captured.
  entry.geometry = {.dtype = dtype.value_or(program::DType::kUInt8),
                    .sizes = tensor.sizes().vec(),
                    .strides = tensor.strides().vec(),
                    .offset = tensor.storage_offset()};
  entry.storage_bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
  entry.record = loaded.data;
  entry.first_byte = loaded.first_byte;
  return entry;
}

model::Geometry geometry_of(const at::Tensor& tensor) {
  return {.dtype = *dtype_of(tensor.scalar_type()),
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec(),
          .offset = tensor.storage_offset()};
}

Error out_of_memory() {
  return Error(ErrorCode::kUnsupportedModel, "reading the model takes more memory than it may")
      .help("allow more with --model-memory, or look for what the model computes from constants");
}

/// The error as a tool may hear it: one of a model.
ErrorInfo error_of_model(const Error& error) {
  ErrorInfo info = error.info();
  if (info.code >= ErrorCode::kNotTorchScript && info.code <= ErrorCode::kWrongTarget) {
    const bool memory = info.message.find("can't allocate memory") != std::string::npos ||
                        info.message.find("std::bad_alloc") != std::string::npos;
    return memory ? out_of_memory().info() : info;
  }
  info.notes.push_back("the model came upon this as " + code_text(info.code));
  info.code = ErrorCode::kUnsupportedModel;
  return info;
}

class Service {
 public:
  Service(std::shared_ptr<const model::DataFile> file, int questions, int answers)
      : file_(std::move(file)), questions_(questions), answers_(answers) {}

  void run() {
    while (const auto header = process::read_header(questions_)) {
      const auto question = static_cast<Message>(header->type);
      std::string text = process::read_body(questions_, *header, kMostQuestion);
      process::note_operator("");
      process::note_module("");
      try {
        answer(question, std::move(text));
      } catch (const Error& error) {
        say(Message::kError, model::text_of(error_of_model(error)));
      } catch (const std::bad_alloc&) {
        say(Message::kError, model::text_of(out_of_memory().info()));
      } catch (const std::exception& error) {
        const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
        say(Message::kError,
            model::text_of(
                error_of_model(Error(ErrorCode::kUnsupportedModel,
                                     torch_error != nullptr ? torch_error->what_without_backtrace()
                                                            : std::string(error.what())))));
      }
    }
  }

 private:
  void say(Message answer, std::string_view text) const {
    process::write_frame(answers_, static_cast<std::uint32_t>(answer), text);
  }

  void answer(Message question, std::string text) {
    switch (question) {
      case Message::kOpen:
        model_ = Model::load(file_);
        return say(Message::kOpened, text_of(opened(*model_)));
      case Message::kCapture:
        return answer_capture(model::read_capture_request(std::move(text)));
      case Message::kExport:
        return write_archive(
            file_, model::read_export_request(std::move(text)), questions_, answers_);
      default:
        require(false, "a question that is none");
    }
  }

  void answer_capture(const model::CaptureRequest& request) {
    require(model_.has_value(), "a capture is asked for before the model is open");
    Captured captured = capture(*model_, request.options);
    model::CaptureNotes notes;
    notes.warnings = std::move(captured.warnings);
    notes.unattributed_operators = captured.unattributed_operators;
    if (request.with_constants) {
      for (const auto& [id, constant] : captured.constants) {
        notes.constants.emplace(id, geometry_of(constant));
      }
    }
    say(Message::kCaptured, text_of(notes));
    program::Profile profile;
    profile.program = std::move(captured.program);
    profile.unattributed_operators = captured.unattributed_operators;
    profile.meta = Json::object();
    std::string document;
    program::write_profile(profile, [&](std::string_view piece) { document += piece; });
    say(Message::kProgram, document);
    if (!request.with_constants) return;
    for (const auto& [id, constant] : captured.constants) {
      const at::Tensor host = constant.is_cpu() ? constant : constant.cpu();
      say(Message::kBytes,
          {static_cast<const char*>(host.storage().data()), host.storage().nbytes()});
    }
  }

  std::shared_ptr<const model::DataFile> file_;
  int questions_, answers_;
  std::optional<Model> model_;
};

}  // namespace

model::Opened opened(const Model& model) {
  model::Opened opened;
  const auto& state = ModelAccess::state(model);
  for (const auto* tensors : {&state.loaded.parameters, &state.loaded.buffers}) {
    for (const LoadedTensor& loaded : *tensors) opened.state.push_back(entry_of(loaded));
  }
  opened.recipe = model.extra_file("initialization.json");
  opened.says_persistent = model.extra_file(kBuffersFile).has_value();
  return opened;
}

void serve(std::shared_ptr<const model::DataFile> file, int questions, int answers) {
  Service(std::move(file), questions, answers).run();
}

}  // namespace elixir::capture
