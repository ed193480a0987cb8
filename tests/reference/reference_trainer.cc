// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Plain training for comparison: a TorchScript module under LibTorch's own eager autograd, and
// AdamW written element by element from the project's arithmetic. It links nothing of Elixir. It
// prints each micro-batch's loss as the eight hexadecimal digits of its float, then writes the
// final weights, in order, to a file. With gradients=1 it writes the first micro-batch's gradients
// instead and stops.
//
// usage: reference_trainer, a line of standard input for each training: MODEL.pt WEIGHTS_OUT
// [key=value]..., tabs between them
//   steps micro_batches threads seed lr beta1 beta2 eps weight_decay clip_norm no_decay=GLOB device
//   deterministic gradients input=DTYPE:RANGE:D0,D1,...   (input: repeatable)
// Each trains in a process of its own, and `exit STATUS` ends its losses: LibTorch takes a second
// to load, most trainings less.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <fnmatch.h>
#include <sys/wait.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "batches.h"

namespace {

struct Options {
  std::map<std::string, std::string> values;
  std::vector<elixir::reference::InputShape> inputs;
  [[nodiscard]] double number(const std::string& key, double otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : std::stod(found->second);
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  }
};

elixir::reference::InputShape parse_input(const std::string& text) {
  elixir::reference::InputShape shape;
  std::istringstream in(text);
  std::string dtype, range, dimension;
  std::getline(in, dtype, ':');
  std::getline(in, range, ':');
  shape.dtype = dtype == "int64" ? c10::kLong : dtype == "bfloat16" ? c10::kBFloat16 : c10::kFloat;
  shape.range = std::stoll(range);
  while (std::getline(in, dimension, ',')) shape.sizes.push_back(std::stoll(dimension));
  return shape;
}

// --- The seed of a micro-batch, from its published formula ---------------------------------------
std::uint64_t split_mix(std::uint64_t state) {
  std::uint64_t z = state + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t step, std::uint64_t micro_batch) {
  return split_mix(split_mix(split_mix(seed) ^ step) ^ micro_batch);
}

// --- bf16 ----------------------------------------------------------------------------------------
float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
/// Rounds to nearest, ties away from zero.
std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x8000U) >> 16);
}

/// One distinct parameter with its optimizer state, in fp32 on the CPU, in memory order.
struct Weight {
  std::string name;
  std::vector<std::string> names;
  at::Tensor tensor;
  std::vector<float> master, m, v, gradient;
  bool has_gradient = false;
};

std::vector<float> floats_of(const at::Tensor& tensor) {
  // Every tensor here is dense: whatever its strides, its elements are one block.
  const at::Tensor on_cpu = tensor.detach().cpu();
  std::vector<float> values(static_cast<std::size_t>(on_cpu.numel()));
  if (on_cpu.scalar_type() == c10::kFloat) {
    std::memcpy(values.data(), on_cpu.const_data_ptr(), values.size() * sizeof(float));
  } else {
    const auto* from = static_cast<const std::uint16_t*>(on_cpu.const_data_ptr());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = widen(from[i]);
  }
  return values;
}

void write_back(Weight& weight) {
  at::Tensor on_cpu = weight.tensor.detach().cpu();
  if (on_cpu.is_same(weight.tensor)) on_cpu = weight.tensor.detach();
  if (on_cpu.scalar_type() == c10::kFloat) {
    std::memcpy(
        on_cpu.mutable_data_ptr(), weight.master.data(), weight.master.size() * sizeof(float));
  } else {
    auto* to = static_cast<std::uint16_t*>(on_cpu.mutable_data_ptr());
    for (std::size_t i = 0; i < weight.master.size(); ++i) to[i] = narrow(weight.master[i]);
  }
  if (!weight.tensor.device().is_cpu()) {
    const at::NoGradGuard no_grad;
    weight.tensor.copy_(on_cpu);
  }
}

/// The sums of squares of a gradient in blocks of 65,536 elements with 1,024 lanes each.
void block_sums(const std::vector<float>& gradient, float divisor, std::vector<float>& sums) {
  for (std::size_t start = 0; start < gradient.size(); start += 65536) {
    std::vector<float> lane(1024, 0.0F);
    for (std::size_t i = start; i < std::min(gradient.size(), start + 65536); ++i) {
      const float g = divisor == 1.0F ? gradient[i] : gradient[i] / divisor;
      float& s = lane[(i - start) % 1024];
      s = std::fma(g, g, s);
    }
    for (std::size_t half = 512; half >= 1; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    }
    sums.push_back(lane[0]);
  }
}

/// sums[i] += sums[i+h], where h is the largest power of two below the length, then halves.
float tree_norm(std::vector<float> sums) {
  if (sums.empty()) return 0.0F;
  std::size_t h = 1;
  while (h * 2 < sums.size()) h *= 2;
  for (; h >= 1; h /= 2) {
    for (std::size_t i = 0; i < h && i + h < sums.size(); ++i) sums[i] += sums[i + h];
  }
  return std::sqrt(sums[0]);
}

struct Adam {
  float b1, c1, b2, c2, inverse_root, eps, decay, step, divisor, clip;
};

void update(Weight& weight, const Adam& a) {
  for (std::size_t i = 0; i < weight.master.size(); ++i) {
    float g = weight.gradient[i];
    if (a.divisor != 1.0F) g = g / a.divisor;
    if (a.clip != 1.0F) g = g * a.clip;
    const float m = std::fma(a.b1, weight.m[i], a.c1 * g);
    const float v = std::fma(a.b2, weight.v[i], (a.c2 * g) * g);
    const float d = std::fma(std::sqrt(v), a.inverse_root, a.eps);
    const float p = weight.master[i] * a.decay;
    weight.m[i] = m;
    weight.v[i] = v;
    weight.master[i] = std::fma(a.step, m / d, p);
  }
}

void write_tensor(std::ofstream& out, const std::string& name, const at::Tensor& tensor) {
  const at::Tensor on_cpu = tensor.detach().cpu();
  out << name << '\n' << on_cpu.nbytes() << '\n';
  out.write(static_cast<const char*>(on_cpu.const_data_ptr()),
            static_cast<std::streamsize>(on_cpu.nbytes()));
  out << '\n';
}

void put_on(torch::jit::Block* block, const std::string& device) {
  for (torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant &&
        node->output()->type()->kind() == c10::TypeKind::DeviceObjType &&
        node->hasAttribute(c10::attr::value)) {
      node->s_(c10::attr::value, device);
    }
    for (torch::jit::Block* inner : node->blocks()) put_on(inner, device);
  }
}

int train(const std::string& model, const std::string& weights_out, const Options& options) {
  at::set_num_threads(static_cast<int>(options.number("threads", 1)));
  const bool cuda = options.text("device") == "cuda";
  const c10::Device device = cuda ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  if (options.number("deterministic", 0) != 0) {
    // Warnings instead of errors, so that LibTorch chooses the same attention kernel as without
    // this setting.
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    at::globalContext().setDeterministicCuDNN(true);
  }
  torch::jit::getProfilingMode() = false;
  const torch::jit::GraphOptimizerEnabledGuard no_optimizer(false);
  torch::jit::Module module = torch::jit::load(model, c10::kCPU);
  if (cuda) {
    module.to(device);
    for (const torch::jit::Module& part : module.modules()) {
      for (const torch::jit::Method& method : part.get_methods())
        put_on(method.graph()->block(), device.str());
    }
  }

  std::vector<Weight> weights;
  std::map<const void*, std::size_t> seen;
  for (const auto& named : module.named_parameters()) {
    const void* identity = named.value.unsafeGetTensorImpl();
    const auto [place, fresh] = seen.emplace(identity, weights.size());
    if (!fresh) {
      weights[place->second].names.push_back(named.name);
      continue;
    }
    Weight weight;
    weight.name = named.name;
    weight.names = {named.name};
    weight.tensor = named.value;
    weight.master = floats_of(named.value);
    weights.push_back(std::move(weight));
  }

  const auto steps = static_cast<std::int64_t>(options.number("steps", 1));
  const auto micro_batches = static_cast<std::int64_t>(options.number("micro_batches", 1));
  const auto seed = static_cast<std::uint64_t>(options.number("seed", 0));
  const double lr = options.number("lr", 1e-3), b1 = options.number("beta1", 0.9);
  const double b2 = options.number("beta2", 0.999), eps = options.number("eps", 1e-8);
  const double decay = options.number("weight_decay", 0.0),
               clip_norm = options.number("clip_norm", 0.0);
  at::Generator generator = at::globalContext().defaultGenerator(device);

  for (std::int64_t t = 1; t <= steps; ++t) {
    for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
      generator.set_current_seed(
          seed_of(seed, static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(micro)));
      std::vector<c10::IValue> inputs;
      for (const at::Tensor& tensor : elixir::reference::make_batch(options.inputs, t, micro)) {
        inputs.emplace_back(tensor.to(device));
      }
      const c10::IValue result = module.forward(inputs);
      const at::Tensor loss =
          result.isTuple() ? result.toTuple()->elements()[0].toTensor() : result.toTensor();
      torch::autograd::backward({loss}, {});
      const float value = loss.detach().to(c10::kFloat).item<float>();
      std::printf("%08x\n", std::bit_cast<std::uint32_t>(value));
      if (options.number("gradients", 0) != 0) {
        std::ofstream out(weights_out, std::ios::binary);
        for (const Weight& weight : weights) {
          if (weight.tensor.grad().defined()) write_tensor(out, weight.name, weight.tensor.grad());
        }
        return out ? 0 : 1;
      }
      for (Weight& weight : weights) {
        const at::Tensor gradient = weight.tensor.grad();
        weight.has_gradient = gradient.defined();
        if (!weight.has_gradient) continue;
        if (!gradient.strides().equals(weight.tensor.strides())) {
          std::fprintf(stderr, "the gradient of %s has other strides\n", weight.name.c_str());
          return 1;
        }
        const std::vector<float> values = floats_of(gradient);
        if (micro == 0) {
          weight.gradient = values;
        } else {
          for (std::size_t i = 0; i < values.size(); ++i) weight.gradient[i] += values[i];
        }
        weight.tensor.mutable_grad().reset();
      }
    }
    const auto divisor = static_cast<float>(micro_batches);
    float clip = 1.0F;
    if (clip_norm > 0) {
      std::vector<float> sums;
      for (const Weight& weight : weights) {
        if (weight.has_gradient) block_sums(weight.gradient, divisor, sums);
      }
      const float norm = tree_norm(sums);
      clip = static_cast<float>(std::min(1.0, clip_norm / (static_cast<double>(norm) + 1e-6)));
    }
    const auto td = static_cast<double>(t);
    Adam adam{static_cast<float>(b1),
              static_cast<float>(1.0 - b1),
              static_cast<float>(b2),
              static_cast<float>(1.0 - b2),
              static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(b2, td))),
              static_cast<float>(eps),
              1.0F,
              static_cast<float>(-lr / (1.0 - std::pow(b1, td))),
              divisor,
              clip};
    for (Weight& weight : weights) {
      if (!weight.has_gradient) continue;
      if (weight.m.empty()) {
        weight.m.assign(weight.master.size(), 0.0F);
        weight.v.assign(weight.master.size(), 0.0F);
      }
      bool exempt = false;
      for (const std::string& name : weight.names) {
        exempt = exempt || fnmatch(options.text("no_decay").c_str(), name.c_str(), 0) == 0;
      }
      adam.decay = exempt ? 1.0F : static_cast<float>(1.0 - lr * decay);
      update(weight, adam);
      write_back(weight);
    }
  }

  std::ofstream out(weights_out, std::ios::binary);
  for (const Weight& weight : weights) write_tensor(out, weight.name, weight.tensor);
  return out ? 0 : 1;
}

/// Runs the arguments of a line; returns the exit status.
int run(const std::string& line) {
  std::vector<std::string> arguments;
  std::istringstream in(line);
  for (std::string argument; std::getline(in, argument, '\t');) arguments.push_back(argument);
  if (arguments.size() < 2) throw std::runtime_error("MODEL.pt and WEIGHTS_OUT are wanted");
  Options options;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals), value = argument.substr(equals + 1);
    if (key == "input") {
      options.inputs.push_back(parse_input(value));
    } else {
      options.values[key] = value;
    }
  }
  return train(arguments[0], arguments[1], options);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const pid_t child = fork();
    if (child == 0) {
      int status = 1;
      try {
        status = run(line);
      } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
      }
      std::fflush(stdout);
      _exit(status);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    std::printf("exit %d\n", status);
    std::fflush(stdout);
  }
  return 0;
}
