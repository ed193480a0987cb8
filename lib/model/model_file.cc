// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "model/model_file.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "program/document.h"

namespace elixir::model {
namespace {

constexpr std::uint64_t kMostNotes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostProgram = std::uint64_t{256} << 20;  // OPT-175B's takes 8 MiB

/// What the process says, read as a file: what is wrong with it is its fault, not the user's.
template <class Read>
auto read_answer(const ReaderProcess& process, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw process.nonsense(error.info().message);
  }
}

/// The constants whose values come: of the program, all of them, and each as large as it says.
void check_constants(const ReaderProcess& process,
                     const program::Program& program,
                     const std::map<program::StorageId, Geometry>& constants) {
  for (const auto& [id, geometry] : constants) {
    const auto position = static_cast<std::size_t>(id);
    if (position >= program.storages.size() ||
        program.storages[position].category != program::Category::kConstant) {
      throw process.nonsense("the value of a storage that is no constant");
    }
    if (!lies_within(geometry, program.storages[position].bytes)) {
      throw process.nonsense("a constant that is larger than its storage");
    }
  }
  for (const program::Storage& storage : program.storages) {
    if (storage.category == program::Category::kConstant && constants.count(storage.id) == 0) {
      throw process.nonsense("a constant without a value");
    }
  }
}

}  // namespace

ModelFile ModelFile::open(const std::string& path, const Isolation& isolation) {
  ModelFile model(DataFile::open(path), isolation);
  model.process_ = std::make_shared<ReaderProcess>(*model.file_, isolation);
  model.opened_ = model.open_in(*model.process_);
  if (isolation.sandbox != process::Sandbox::kNone) {
    model.unrestricted_because_ = model.process_->ready().why_not;
  }
  for (std::size_t i = 0; i < model.opened_.state.size(); ++i) {
    for (const std::string& name : model.opened_.state[i].names) model.by_name_.emplace(name, i);
  }
  return model;
}

Opened ModelFile::open_in(ReaderProcess& process) const {
  process.ask(Message::kOpen, "");
  std::string text = process.answer(Message::kOpened, kMostNotes);
  return read_answer(process, [&] { return read_opened(std::move(text)); });
}

ReaderProcess& ModelFile::process() {
  if (!process_) {
    process_ = std::make_shared<ReaderProcess>(*file_, isolation_);
    static_cast<void>(open_in(*process_));
  }
  return *process_;
}

Captured ModelFile::capture(const Options& options, Constants constants) {
  ReaderProcess& process = this->process();
  const bool with_constants = constants == Constants::kRead;
  process.ask(Message::kCapture, text_of(CaptureRequest{options, with_constants}));
  std::string notes_text = process.answer(Message::kCaptured, kMostNotes);
  std::string program_text = process.answer(Message::kProgram, kMostProgram);
  const CaptureNotes notes =
      read_answer(process, [&] { return read_capture_notes(std::move(notes_text)); });
  Captured captured;
  captured.program = read_answer(process, [&] {
    return program::read_profile(std::move(program_text), "the captured program").program;
  });
  captured.warnings = notes.warnings;
  captured.unattributed_operators = notes.unattributed_operators;
  if (!with_constants) return captured;
  check_constants(process, captured.program, notes.constants);
  for (const auto& [id, geometry] : notes.constants) {
    const program::Storage& storage = captured.program.storages[static_cast<std::size_t>(id)];
    std::string bytes = process.answer(Message::kBytes, static_cast<std::uint64_t>(storage.bytes));
    if (std::ssize(bytes) != storage.bytes || sha256_hex(bytes) != storage.content_digest) {
      throw process.nonsense("a constant that is not the program's");
    }
    captured.constants.emplace(id, Constant{geometry, std::move(bytes)});
  }
  return captured;
}

const StateEntry& ModelFile::state(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    throw Error(ErrorCode::kWeightsMismatch, "the model has no parameter or buffer '{}'", name);
  }
  return opened_.state[found->second];
}

bool ModelFile::has_data(const StateEntry& entry) {
  const auto& sizes = entry.geometry.sizes;
  return entry.record || std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

void ModelFile::read(const StateEntry& entry, void* storage) const {
  if (!entry.record) {
    throw Error(ErrorCode::kBufferWithoutData,
                "'{}' has no data in {} (it was saved from the meta device)",
                entry.names.front(),
                path())
        .help("give the data with --weights, or export the model again from the CPU");
  }
  file_->read(
      *entry.record, entry.first_byte, static_cast<std::uint64_t>(entry.storage_bytes), storage);
}

void ModelFile::write_archive(const ExportRequest& request,
                              const std::function<std::string_view(std::size_t i)>& value,
                              const Sink& sink) {
  ReaderProcess& process = this->process();
  process.ask(Message::kExport, text_of(request));
  std::uint64_t value_bytes = 0;
  for (std::size_t i = 0; i < request.tensors.size(); ++i) {
    const std::string_view bytes = value(i);
    value_bytes += bytes.size();
    process.ask(Message::kBytes, bytes);
  }
  // LibTorch writes its constants and code again, and its values, each at a round position.
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;
  constexpr std::uint64_t kMostAround = std::uint64_t{64} << 20;
  std::uint64_t left_bytes = file_->bytes() + value_bytes + kMostAround;
  while (const auto bytes = process.answer_or(Message::kBytes, kMostAtOnce, Message::kDone)) {
    if (bytes->size() > left_bytes) throw process.nonsense("an archive larger than its values");
    left_bytes -= bytes->size();
    sink(*bytes);
  }
}

}  // namespace elixir::model
