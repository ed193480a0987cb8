// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares a replayed forward and backward with the same module under LibTorch's eager autograd.
// Runs alternate, so that both see the same state of the machine. Figures are medians and quartiles
// over the runs.
//
// usage: replay_benchmark MODEL.pt [--device cpu|cuda] [--runs N] [--threads N] [--range N]
// --range: integer inputs are in [0, N) (default 256)
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"
#include "capture/capture.h"
#include "core/error.h"
#include "replay/program_replay.h"
#include "replay/replay_call.h"

#ifdef ELIXIR_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace elixir {
namespace {

constexpr int kWarmUpRuns = 3;

struct Options {
  std::string model, device = "cpu";
  long runs = 20, threads = 0;  ///< 0 threads: LibTorch's number
  long range = 256;
};

struct Quartiles {
  double first = 0, median = 0, third = 0;
};

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(
        std::lround(part * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.25), at(0.5), at(0.75)};
}

void synchronize(const Options& options) {
#ifdef ELIXIR_HAVE_CUDA
  if (options.device == "cuda" && cudaDeviceSynchronize() != cudaSuccess)
    throw std::runtime_error("the GPU failed");
#else
  static_cast<void>(options);
#endif
}

double milliseconds(const Options& options, const std::function<void()>& act) {
  synchronize(options);
  const auto start = std::chrono::steady_clock::now();
  act();
  synchronize(options);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Moves device constants that tracing wrote into the graph to the module's device.
void put_on(torch::jit::Block* block, const std::string& device) {
  for (torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant && node->hasAttribute(c10::attr::value) &&
        node->output()->type()->kind() == c10::TypeKind::DeviceObjType) {
      node->s_(c10::attr::value, device);
    }
    for (torch::jit::Block* inner : node->blocks()) put_on(inner, device);
  }
}

torch::jit::Module load(const Options& options, c10::Device device) {
  torch::jit::Module module = torch::jit::load(options.model, c10::kCPU);
  if (device.is_cuda()) {
    module.to(device);
    for (const torch::jit::Module& part : module.modules()) {
      for (const torch::jit::Method& method : part.get_methods())
        put_on(method.graph()->block(), device.str());
    }
  }
  return module;
}

std::vector<at::Tensor> make_inputs(const program::Program& program,
                                    const Options& options,
                                    c10::Device device) {
  std::vector<at::Tensor> inputs;
  for (const program::Input& input : program.inputs) {
    const auto dtype = capture::scalar_type(input.tensor.dtype);
    inputs.push_back(
        program::is_floating(input.tensor.dtype)
            ? at::rand(input.tensor.sizes).to(dtype).to(device)
            : at::randint(options.range, input.tensor.sizes, at::TensorOptions().dtype(dtype))
                  .to(device));
  }
  return inputs;
}

/// The module's parameters and buffers by name.
std::map<std::string, at::Tensor> tensors_of(const torch::jit::Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& named : module.named_parameters()) tensors[named.name] = named.value;
  for (const auto& named : module.named_buffers()) tensors[named.name] = named.value;
  return tensors;
}

void run(const Options& options) {
  if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
  const bool cuda = options.device == "cuda";
  const c10::Device device = cuda ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  capture::Options capturing;
  capturing.target = cuda ? program::Target{program::Target::Kind::kCuda, 90}
                          : program::Target{program::Target::Kind::kCpu, 0};
  const capture::Captured captured =
      capture::capture(capture::Model::load(options.model), capturing);

  torch::jit::getProfilingMode() = false;
  const torch::jit::GraphOptimizerEnabledGuard no_optimizer(false);
  torch::jit::Module module = load(options, device);
  const std::map<std::string, at::Tensor> tensors = tensors_of(module);

  replay::ProgramReplay replay(captured.program);
  const program::Program& program = replay.program();
  const std::vector<at::Tensor> inputs = make_inputs(program, options, device);
  replay::StorageTable storages(program.storages.size());
  for (const program::Parameter& parameter : program.parameters) {
    storages[parameter.tensor.storage] = tensors.at(parameter.name).storage();
  }
  for (const program::Buffer& buffer : program.buffers)
    storages[buffer.tensor.storage] = tensors.at(buffer.name).storage();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    storages[program.inputs[i].tensor.storage] = inputs[i].storage();
  std::vector<at::Tensor> constants;
  for (const auto& [id, tensor] : captured.constants) {
    constants.push_back(program.storages[id].on_host ? tensor : tensor.to(device));
    storages[id] = constants.back().storage();
  }

  const std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  const auto eager = [&] {
    const c10::IValue result = module.forward(arguments);
    torch::autograd::backward(
        {result.isTuple() ? result.toTuple()->elements()[0].toTensor() : result.toTensor()}, {});
    for (const auto& [name, tensor] : tensors) tensor.mutable_grad().reset();
  };
  const auto replayed = [&] {
    const replay::ReplayScope scope;
    replay.run(storages, 0, static_cast<program::OperatorId>(program.operators.size()));
    replay.release_produced(storages);
  };
  for (int i = 0; i < kWarmUpRuns; ++i) {
    eager();
    replayed();
  }
  std::vector<double> eager_ms, replay_ms, ratios;
  for (long i = 0; i < options.runs; ++i) {
    eager_ms.push_back(milliseconds(options, eager));
    replay_ms.push_back(milliseconds(options, replayed));
    ratios.push_back(replay_ms.back() / eager_ms.back());
  }
  const auto executed =
      std::count(replay.lifetimes().executed.begin(), replay.lifetimes().executed.end(), true);
  fmt::print("{} on {}, {} threads: {} calls recorded, {} replayed, {} alternating runs\n",
             options.model,
             options.device,
             at::get_num_threads(),
             program.operators.size(),
             executed,
             options.runs);
  const auto line = [](const char* what, const std::vector<double>& values, const char* unit) {
    const Quartiles q = quartiles(values);
    fmt::print("{:<8} median {:8.3f}{} (quartiles {:.3f} to {:.3f})\n",
               what,
               q.median,
               unit,
               q.first,
               q.third);
  };
  line("eager", eager_ms, " ms");
  line("replay", replay_ms, " ms");
  line("ratio", ratios, "");
}

}  // namespace
}  // namespace elixir

int main(int argc, char** argv) {
  elixir::Options options;
  return elixir::benchmarks::run(
      {.name = "replay_benchmark",
       .usage = "MODEL.pt [--device cpu|cuda] [--runs N] [--threads N] [--range N]",
       .numbers = {{"--runs", &options.runs},
                   {"--threads", &options.threads},
                   {"--range", &options.range}},
       .choices = {{"--device", {&options.device, {"cpu", "cuda"}}}},
       .file = &options.model},
      argc,
      argv,
      [&] {
        elixir::run(options);
        return 0;
      });
}
