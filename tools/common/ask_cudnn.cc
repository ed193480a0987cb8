// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/ask_cudnn.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/shipped_data.h"
#include "core/units.h"
#include "operators/convolution/convolution.h"
#include "operators/convolution/gpu_description.h"
#include "process/child.h"
#include "process/subprocess.h"

namespace elixir::tools {
namespace {

using operators::ConvolutionQuery;

std::optional<std::filesystem::path> description_of(const program::Target& target) {
  for (const std::filesystem::path& directory : profile_directories()) {
    std::filesystem::path path = directory / "gpus" / fmt::format("sm_{}.json", target.sm);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

/// The time that the other process has. It takes a second to start, and a millisecond for a query.
std::chrono::milliseconds time_for(std::size_t queries) {
  constexpr std::chrono::milliseconds kToStart{10'000};
  constexpr std::chrono::milliseconds kForAQuery{10};
  return kToStart + kForAQuery * static_cast<std::int64_t>(queries);
}

/// The first error that the other process printed, or what its end says.
std::string failure_of(const process::ProcessResult& result) {
  const Json document = Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  if (document.is_object() && document.contains("diagnostics") &&
      document["diagnostics"].is_array()) {
    for (const Json& diagnostic : document["diagnostics"]) {
      const auto text = [&diagnostic](const char* key) {
        return diagnostic.is_object() && diagnostic.contains(key) && diagnostic[key].is_string()
                   ? diagnostic[key].get<std::string>()
                   : std::string();
      };
      if (text("severity") == "error") return text("message");
    }
  }
  if (result.signal != 0) {
    const char* name = ::sigabbrev_np(result.signal);
    return name == nullptr ? fmt::format("elixir-cudnn was ended by signal {}", result.signal)
                           : fmt::format("elixir-cudnn was ended by SIG{}", name);
  }
  return fmt::format("elixir-cudnn ended with exit code {}", result.exit_code);
}

/// Bytes that a workspace can have.
std::optional<std::int64_t> bytes_in(const Json& answer) {
  if (!answer.contains("bytes")) return std::nullopt;  // no engine
  const Json& bytes = answer["bytes"];
  if (!bytes.is_number_integer()) return std::nullopt;
  if (bytes.is_number_unsigned()) {
    const auto value = bytes.get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(program::kMostWorkspaceBytes)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  const auto value = bytes.get<std::int64_t>();
  if (value < 0) return std::nullopt;
  return value;
}

/// Answers to what was asked. Of a query without a usable one, an estimate remains.
program::WorkspaceAnswers answers_in(const Json& document,
                                     const std::unordered_set<std::string>& asked,
                                     AskAbout about) {
  const bool here = about == AskAbout::kGpuHere;
  program::WorkspaceAnswers answers{.measured = here};
  answers.source =
      fmt::format("{} {} {}",
                  document.at("library").get<std::string>(),
                  here ? "on" : "with a description of",
                  document.at("description").value("deviceName", std::string("an unnamed GPU")));
  for (const Json& answer : document.at("answers")) {
    const std::string query = answer.at("query").get<std::string>();
    const auto bytes = bytes_in(answer);
    if (bytes && asked.count(query) > 0) answers.bytes.emplace(query, *bytes);
  }
  return answers;
}

CudnnAnswers no_answers(std::string failure) {
  return {.answers = nullptr, .failure = std::move(failure)};
}

}  // namespace

CudnnAnswers ask_cudnn(const program::Program& program,
                       const operators::WorkspaceTable& table,
                       AskAbout about) {
  const std::vector<ConvolutionQuery> queries = operators::unknown_convolutions(program, table);
  if (program.target.kind != program::Target::Kind::kCuda || queries.empty()) return {};
  const std::filesystem::path helper = process::helper_program("elixir-cudnn");
  if (!std::filesystem::exists(helper)) {
    return no_answers("this build has no elixir-cudnn, which needs LibTorch for CUDA");
  }
  std::vector<std::string> arguments{"--json", "--quiet"};
  if (about == AskAbout::kDescribedGpu) {
    const auto description = description_of(program.target);
    if (!description) {
      return no_answers(fmt::format("no GPU of {} is described", program.target.text()));
    }
    operators::check_gpu_description(*JsonDocument::load(description->string()), program.target.sm);
    arguments.insert(arguments.end(), {"--description", description->string()});
  }
  std::string input;
  std::unordered_set<std::string> asked;
  for (const ConvolutionQuery& query : queries) {
    const std::string text = text_of(query);
    input += text + '\n';
    asked.insert(text);
  }
  const std::chrono::milliseconds limit = time_for(queries.size());
  try {
    const process::ProcessResult result = process::run_process(helper, arguments, {}, input, limit);
    if (result.was_too_slow) {
      return no_answers(fmt::format("cuDNN did not answer in {:.3g} s",
                                    std::chrono::duration<double>(limit).count()));
    }
    if (result.exit_code != 0) return no_answers(failure_of(result));
    program::WorkspaceAnswers answers =
        answers_in(Json::parse(result.output).at("document"), asked, about);
    if (answers.bytes.empty()) {
      return no_answers(fmt::format(
          "{} answered none of {} questions", answers.source, format_count(std::ssize(queries))));
    }
    return {.answers = std::make_shared<const program::WorkspaceAnswers>(std::move(answers)),
            .failure = ""};
  } catch (const Error& error) {
    return no_answers(error.info().message);
  } catch (const Json::exception&) {
    return no_answers("elixir-cudnn gave no answer that can be read");
  }
}

}  // namespace elixir::tools
