// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "model/reader_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/interrupt.h"
#include "core/units.h"

namespace elixir::model {
namespace {

constexpr std::int64_t kUsualMemory = std::int64_t{4} << 30;

/// What changes how LibTorch and its libraries work; nothing else of the environment is for a
/// stranger's model.
std::vector<std::string> environment() {
  constexpr std::array kPassedOn{"LD_LIBRARY_PATH",
                                 "LANG",
                                 "LC_ALL",
                                 "ATEN_CPU_CAPABILITY",
                                 "ONEDNN_MAX_CPU_ISA",
                                 "DNNL_MAX_CPU_ISA",
                                 "MKL_ENABLE_INSTRUCTIONS",
                                 "OPENBLAS_CORETYPE"};
  std::vector<std::string> variables{"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"};
  for (const char* name : kPassedOn) {
    if (const char* value = std::getenv(name))
      variables.push_back(fmt::format("{}={}", name, value));
  }
  return variables;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

/// A pipe: what is read, what is written.
std::pair<Descriptor, Descriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(
        ErrorCode::kIoError, "cannot make a pipe: {}", std::generic_category().message(errno));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// What the loader wrote to stderr when the program could not start.
std::string text_in(const Descriptor& file) {
  std::array<char, 1024> text{};
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  std::string all(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!all.empty() && all.back() == '\n') all.pop_back();
  return all;
}

}  // namespace

ReaderProcess::ReaderProcess(const DataFile& file, const Isolation& isolation)
    : path_(file.path()),
      isolation_(isolation),
      memory_bytes_(static_cast<std::uint64_t>(
          isolation.memory_bytes.value_or(kUsualMemory + static_cast<std::int64_t>(file.bytes())))),
      complaints_(memfd_create("stderr", MFD_CLOEXEC)) {
  const std::filesystem::path program = process::helper_program("elixir-capture");
  if (!std::filesystem::exists(program)) {
    throw Error(
        ErrorCode::kMissingFeature, "{}, which reads models, is not there", program.string())
        .help("install Elixir whole");
  }
  auto [questions, to] = make_pipe();
  auto [from, answers] = make_pipe();
  to_ = std::move(to);
  from_ = std::move(from);
  constexpr int kArchive = 3;
  constexpr int kPlace = 4;
  child_.emplace(process::Command{
      .program = program,
      .arguments = {path_,
                    std::to_string(memory_bytes_),
                    std::to_string(isolation.processor_seconds),
                    std::string(process::kSandboxNames.name_of(isolation.sandbox))},
      .environment = environment(),
      .descriptors = {{questions.get(), STDIN_FILENO},
                      {answers.get(), STDOUT_FILENO},
                      {complaints_.get(), STDERR_FILENO},
                      {file.descriptor(), kArchive},
                      {place_.descriptor(), kPlace}}});
  questions.close();
  answers.close();
  ready_ = read_ready(answer(Message::kReady, std::uint64_t{1} << 16));
  if (isolation.sandbox == process::Sandbox::kRequire && !ready_.restricted) {
    throw Error(ErrorCode::kMissingFeature,
                "this kernel cannot restrict the process that reads the model: {}",
                ready_.why_not)
        .help("use a kernel with seccomp, or --sandbox auto for a model that you trust");
  }
}

void ReaderProcess::ask(Message question, std::string_view text) {
  try {
    process::write_frame(to_.get(), static_cast<std::uint32_t>(question), text);
  } catch (const Error&) {
    throw end_as_error();
  }
}

std::string ReaderProcess::answer(Message wanted, std::uint64_t most_bytes) {
  return *answer_or(wanted, most_bytes, wanted);
}

std::optional<std::string> ReaderProcess::answer_or(Message wanted,
                                                    std::uint64_t most_bytes,
                                                    Message end) {
  std::optional<process::FrameHeader> header;
  std::string text;
  try {
    header = process::read_header(from_.get());
    if (header) text = process::read_body(from_.get(), *header, most_bytes);
  } catch (const Error& error) {
    throw_if_interrupted();
    throw nonsense(error.info().message);
  }
  if (!header) throw end_as_error();
  const auto type = static_cast<Message>(header->type);
  if (type == wanted) return text;
  if (type == end) return std::nullopt;
  if (type != Message::kError) throw nonsense(fmt::format("a message of type {}", header->type));
  std::optional<ErrorInfo> said;
  try {
    said = read_error(std::move(text));
  } catch (const Error& error) {
    throw nonsense(error.info().message);
  }
  throw Error(*std::move(said));
}

Error ReaderProcess::nonsense(const std::string& why) const {
  Error error(ErrorCode::kUnsupportedModel,
              SourcePos{.file = path_},
              "the process that reads the model gave an answer that is none");
  return error.note(why).help("the file is damaged or hostile: export the model again");
}

/// The process has closed its pipe, so it has ended or is about to.
Error ReaderProcess::end_as_error() {
  throw_if_interrupted();
  const process::Ending ending = *child_->wait();
  throw_if_interrupted();
  const std::string place = place_.text();
  const std::string at = place.empty() ? "" : ", in " + place;
  const SourcePos where{.file = path_};
  if (ending.signal == SIGFPE) {
    return Error(ErrorCode::kModelRejectsInput,
                 where,
                 "the model divides an integer by zero, or the quotient overflows{}",
                 at)
        .help("look for the divisor in the model's code and in the sizes of its inputs");
  }
  if (ending.signal == SIGXCPU) {
    return Error(ErrorCode::kUnsupportedModel,
                 where,
                 "reading the model took more than {} s of processor time{}",
                 isolation_.processor_seconds,
                 at)
        .help("look for a loop without an end, or allow more with --model-time");
  }
  if (ending.signal == SIGKILL) {
    return Error(
               ErrorCode::kOutOfMemory, where, "the process that reads the model was killed{}", at)
        .help(
            "systems kill processes when memory runs out: close other programs, or use a machine "
            "with more memory");
  }
  if (ending.signal != 0) {
    Error error(ErrorCode::kUnsupportedModel,
                where,
                "the model ended the process that reads it by {}{}",
                signal_name(ending.signal),
                at);
    return error
        .note("it could take {} of memory (--model-memory)",
              format_bytes(static_cast<std::int64_t>(memory_bytes_)))
        .help(
            "the file is damaged or hostile, or LibTorch has a bug that it reaches: export the "
            "model again, without that call");
  }
  Error error(ErrorCode::kMissingFeature,
              "elixir-capture, which reads models, ended with exit code {}",
              ending.exit_code);
  if (const std::string text = text_in(complaints_); !text.empty()) error.note(text);
  return error.help("install Elixir whole, with the LibTorch that it was built with");
}

}  // namespace elixir::model
