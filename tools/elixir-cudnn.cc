// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-cudnn: asks cuDNN for the workspaces of convolutions. A process of its own, because cuDNN
// aborts where it lacks a library. Reads one query a line from stdin (convolution_query.h); its
// document has one answer each, in order. Runs nothing on a GPU.
#include <dlfcn.h>

#include <filesystem>
#include <iostream>
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
#include "tools/common/run_tool.h"

namespace elixir::tools {
namespace {

/// cuBLASLt without a GPU of its own cannot start, or ends the process, and cuDNN leaves out the engines
/// that use it. A stand-in that answers "possible" to everything takes its place
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

std::vector<std::string> read_lines() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

/// The GPU that is asked about.
struct Gpu {
  cudnn::Device device;
  Json description;
  /// Without a GPU, workspaces are computed for so many.
  [[nodiscard]] int multiprocessors() const {
    return description.at("multiProcessorCount").get<int>();
  }
};

Json answer_to(const cudnn::Library& library, const Gpu& gpu, const std::string& text) {
  const auto query = operators::parse_convolution_query(text);
  if (!query) {
    throw Error(ErrorCode::kBadFlagValue, "`{}` is no query of a convolution", text)
        .help("like: fwd bf16 nchw x=16,3,224,224 w=96,3,4,4 s=4,4 p=0,0 d=1,1 g=1");
  }
  Json answer = {{"query", text}};
  try {
    const operators::ConvolutionEngine engine =
        cudnn::convolution_engine(library, gpu.device, *query);
    answer["engine"] = engine.engine;
    answer["knobs"] = Json::array();
    for (const operators::EngineKnob& knob : engine.knobs) {
      answer["knobs"].push_back(Json::array({knob.type, knob.value}));
    }
    answer["bytes"] = gpu.device.is_here()
                          ? engine.bytes
                          : operators::workspace_on(*query, engine, gpu.multiprocessors());
  } catch (const cudnn::Failure& failure) {
    answer["failure"] = failure.what();
  }
  return answer;
}

Gpu gpu_here(const cudnn::Library& library) {
  try {
    cudnn::Device device = cudnn::Device::of_this_machine(library);
    Json description = Json::parse(device.describe());
    return {std::move(device), std::move(description)};
  } catch (const cudnn::Failure& failure) {
    throw Error(ErrorCode::kNoGpu, "cuDNN: {}", failure.what());
  }
}

Gpu described_gpu(const cudnn::Library& library, const std::string& path) {
  const std::string text = read_file(path);
  try {
    Gpu gpu{cudnn::Device::described(library, text), Json::parse(text)};
    static_cast<void>(gpu.multiprocessors());
    return gpu;
  } catch (const std::exception& failure) {
    throw Error(ErrorCode::kJsonBadValue,
                SourcePos{.file = path},
                "cuDNN does not accept this description of a GPU: {}",
                failure.what());
  }
}

Answer work(const std::string& description, Context& context) {
  if (!description.empty()) replace_cublaslt();
  const std::vector<std::string> queries = read_lines();
  const cudnn::Library library;
  const Gpu gpu = description.empty() ? gpu_here(library) : described_gpu(library, description);
  Json answers = Json::array();
  for (const std::string& query : queries) answers.push_back(answer_to(library, gpu, query));
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
