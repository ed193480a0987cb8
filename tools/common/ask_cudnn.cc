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
#include "operators/convolution/engine_workspace.h"
#include "operators/scratch/cuda_traits.h"
#include "tools/common/subprocess.h"

namespace elixir::tools {
namespace {

using operators::ConvolutionEngine;
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

ConvolutionEngine engine_of(const Json& answer) {
  ConvolutionEngine engine{.engine = answer.at("engine").get<std::int64_t>(),
                           .bytes = answer.at("bytes").get<std::int64_t>()};
  for (const Json& knob : answer.at("knobs")) {
    engine.knobs.push_back({knob.at(0).get<int>(), knob.at(1).get<std::int64_t>()});
  }
  engine.bytes_by_multiprocessors =
      answer.at("bytes_by_multiprocessors").get<std::vector<std::int64_t>>();
  return engine;
}

program::WorkspaceAnswers answers_in(const Json& document,
                                     const std::vector<ConvolutionQuery>& queries,
                                     const operators::CudaTraits& traits,
                                     AskAbout about) {
  const bool here = about == AskAbout::kGpuHere;
  program::WorkspaceAnswers answers{.measured = here};
  const std::string device =
      document.at("description").value("deviceName", std::string("an unnamed GPU"));
  answers.source = fmt::format("{} {} {}",
                               document.at("library").get<std::string>(),
                               here ? "on" : "with a description of",
                               device);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Json& answer = document.at("answers").at(i);
    if (answer.contains("failure")) continue;  // no engine: an estimate remains
    const ConvolutionEngine engine = engine_of(answer);
    answers.bytes.emplace(
        text_of(queries[i]),
        here ? engine.bytes : workspace_on(queries[i], engine, traits.assumed_multiprocessors()));
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
    const Json document = Json::parse(result.output).at("document");
    return {.answers = std::make_shared<const program::WorkspaceAnswers>(
                answers_in(document, queries, operators::cuda_traits(program.target), about)),
            .failure = ""};
  } catch (const Error& error) {
    return {.answers = nullptr, .failure = error.info().message};
  } catch (const Json::exception& error) {
    return {.answers = nullptr, .failure = fmt::format("no answer: {}", error.what())};
  }
}

}  // namespace elixir::tools
