// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/ask_cudnn.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/shipped_data.h"
#include "operators/convolution/convolution.h"
#include "tools/common/subprocess.h"

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

/// The first error that the other process printed, or what its end says.
std::string failure_of(const ProcessResult& result) {
  const Json document = Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  if (document.is_object() && document.contains("diagnostics")) {
    for (const Json& diagnostic : document["diagnostics"]) {
      if (diagnostic.value("severity", "") == "error") return diagnostic.value("message", "");
    }
  }
  return fmt::format("asking ended with exit code {}", result.exit_code);
}

program::WorkspaceAnswers answers_in(const Json& document, AskAbout about) {
  const bool here = about == AskAbout::kGpuHere;
  program::WorkspaceAnswers answers{.measured = here};
  answers.source =
      fmt::format("{} {} {}",
                  document.at("library").get<std::string>(),
                  here ? "on" : "with a description of",
                  document.at("description").value("deviceName", std::string("an unnamed GPU")));
  for (const Json& answer : document.at("answers")) {
    if (answer.contains("failure")) continue;  // no engine: an estimate remains
    answers.bytes.emplace(answer.at("query").get<std::string>(),
                          answer.at("bytes").get<std::int64_t>());
  }
  return answers;
}

}  // namespace

CudnnAnswers ask_cudnn(const program::Program& program,
                       const operators::WorkspaceTable& table,
                       AskAbout about) {
  const std::vector<ConvolutionQuery> queries = operators::unknown_convolutions(program, table);
  if (program.target.kind != program::Target::Kind::kCuda || queries.empty()) return {};
  const std::filesystem::path helper = helper_program("elixir-cudnn");
  if (!std::filesystem::exists(helper)) {
    return {.answers = nullptr,
            .failure = "this build has no elixir-cudnn, which needs LibTorch for CUDA"};
  }
  std::vector<std::string> arguments{"--json", "--quiet"};
  if (about == AskAbout::kDescribedGpu) {
    const auto description = description_of(program.target);
    if (!description) {
      return {.answers = nullptr,
              .failure = fmt::format("no GPU of {} is described", program.target.text())};
    }
    arguments.insert(arguments.end(), {"--description", description->string()});
  }
  std::string input;
  for (const ConvolutionQuery& query : queries) input += text_of(query) + '\n';
  try {
    const ProcessResult result = run_process(helper, arguments, {}, input);
    if (result.exit_code != 0) return {.answers = nullptr, .failure = failure_of(result)};
    return {.answers = std::make_shared<const program::WorkspaceAnswers>(
                answers_in(Json::parse(result.output).at("document"), about)),
            .failure = ""};
  } catch (const Error& error) {
    return {.answers = nullptr, .failure = error.info().message};
  } catch (const Json::exception& error) {
    return {.answers = nullptr, .failure = fmt::format("no answer: {}", error.what())};
  }
}

}  // namespace elixir::tools
