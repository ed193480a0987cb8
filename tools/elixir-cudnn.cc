// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-cudnn: asks cuDNN for the workspaces of convolutions. A process of its own, because cuDNN
// aborts where it lacks a library. Reads one query a line from stdin (convolution_query.h); its
// document has one answer each, in order. Runs nothing on a GPU.
#include <dlfcn.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "cudnn/backend.h"
#include "cudnn/convolution_plan.h"
#include "cudnn/device.h"
#include "operators/convolution/convolution_query.h"
#include "operators/convolution/engine_workspace.h"
#include "operators/convolution/gpu_description.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {
namespace {

/// cuBLASLt without a GPU of its own cannot start, or ends the process, and cuDNN leaves out the
/// engines that use it. A stand-in that answers "possible" to everything takes its place
/// (cublaslt_stand_in.cc). The loader finds it by its name when cuDNN asks for cuBLASLt.
void replace_cublaslt() {
  std::error_code ignored;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path stand_in = here.parent_path() / "cublaslt-stand-in.so";
  if (::dlopen(stand_in.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(
        ErrorCode::kMissingFeature, "the stand-in for cuBLASLt cannot be loaded: {}", ::dlerror())
        .help("install Elixir whole");
  }
}

struct AskedQuery {
  std::string text;
  operators::ConvolutionQuery query;
};

/// One of each line that is not empty.
std::vector<AskedQuery> read_queries() {
  std::vector<AskedQuery> queries;
  int number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (line.empty()) continue;
    const auto query = operators::parse_convolution_query(line);
    if (!query) {
      throw Error(ErrorCode::kJsonBadValue,
                  SourcePos{.file = "stdin", .line = number},
                  "`{}` is no query of a convolution",
                  line)
          .help("like: fwd bf16 nchw x=16,3,224,224 w=96,3,4,4 s=4,4 p=0,0 d=1,1 g=1");
    }
    queries.push_back({std::move(line), *query});
  }
  return queries;
}

/// The GPU that is asked about.
struct Gpu {
  cudnn::Device device;
  Json description;
  int multiprocessors = 0;  ///< without a GPU, workspaces are computed for so many
};

Json answer_to(const cudnn::Library& library, const Gpu& gpu, const AskedQuery& asked) {
  Json answer = {{"query", asked.text}};
  try {
    const operators::ConvolutionEngine engine =
        cudnn::convolution_engine(library, gpu.device, asked.query);
    answer["engine"] = engine.engine;
    answer["knobs"] = Json::array();
    for (const operators::EngineKnob& knob : engine.knobs) {
      answer["knobs"].push_back(Json::array({knob.type, knob.value}));
    }
    answer["bytes"] = gpu.device.is_here()
                          ? engine.bytes
                          : operators::workspace_on(asked.query, engine, gpu.multiprocessors);
  } catch (const cudnn::Failure& failure) {
    answer["failure"] = failure.what();
  }
  return answer;
}

Gpu gpu_here(const cudnn::Library& library) {
  try {
    cudnn::Device device = cudnn::Device::of_this_machine(library);
    Json description = Json::parse(device.describe());
    return {std::move(device), std::move(description), /*multiprocessors=*/0};
  } catch (const cudnn::Failure& failure) {
    throw Error(ErrorCode::kNoGpu, "cuDNN: {}", failure.what());
  }
}

Gpu described_gpu(const cudnn::Library& library, const std::string& path) {
  const auto document = JsonDocument::load(path);
  const int multiprocessors = operators::check_gpu_description(*document, std::nullopt);
  const Json description = document->root().raw();
  try {
    return {cudnn::Device::described(library, description.dump()), description, multiprocessors};
  } catch (const cudnn::Failure& failure) {
    throw Error(ErrorCode::kJsonBadValue,
                SourcePos{.file = path},
                "cuDNN does not accept this description of a GPU: {}",
                failure.what());
  }
}

Answer work(const std::string& description, Context& context) {
  if (!description.empty()) replace_cublaslt();
  const std::vector<AskedQuery> queries = read_queries();
  const cudnn::Library library;
  const Gpu gpu = description.empty() ? gpu_here(library) : described_gpu(library, description);
  Json answers = Json::array();
  for (const AskedQuery& query : queries) answers.push_back(answer_to(library, gpu, query));
  context.document() = {{"library", "cuDNN " + library.version()},
                        {"description", gpu.description},
                        {"answers", std::move(answers)}};
  return Answer::kYes;
}

}  // namespace
}  // namespace elixir::tools

int main(int argc, char** argv) {
  std::string description;
  elixir::tools::ToolInfo info;
  info.name = "elixir-cudnn";
  info.summary =
      "Asks cuDNN for workspaces of convolutions; part of elixir-profile and elixir-bench.";
  info.examples = {{"elixir-cudnn --json --description profiles/gpus/sm_90.json < queries.txt",
                    "for an H200, without one"}};
  info.declare = [&](elixir::tools::Flags& flags) {
    flags
        .text("--description",
              "FILE",
              &description,
              "description of a GPU, as cuDNN writes it; without: this machine's GPU")
        .reads();
  };
  return elixir::tools::run_tool(info, argc, argv, [&](elixir::tools::Context& context) {
    return elixir::tools::work(description, context);
  });
}
