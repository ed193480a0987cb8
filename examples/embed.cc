// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A custom trainer without Elixir's tools: captures a TorchScript model, searches a plan under a
// memory budget, and trains. This example makes its model; models from torch::jit::load and files
// from examples/export_hf.py work in the same way.
//
//   g++ -std=c++20 embed.cc $(pkg-config --cflags --libs elixir) -o embed && ./embed
#include <ATen/Context.h>
#include <torch/csrc/jit/api/module.h>

#include <ATen/ops/randn.h>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include <elixir/capture/capture.h>
#include <elixir/core/error.h>
#include <elixir/core/units.h>
#include <elixir/hardware/hardware_profile.h>
#include <elixir/runtime/trainer.h>
#include <elixir/search/search.h>

namespace {

/// Saves twelve layers that classify points by the sign of their sum. forward returns the loss.
void save_model(const std::string& path) {
  torch::jit::Module module("Sorter");
  std::string layers;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "layer" + std::to_string(i);
    module.register_parameter(name, at::randn({512, 512}).mul_(0.04), /*is_buffer=*/false);
    layers += "    x = torch.gelu(torch.mm(x, self." + name + ")) + x\n";
  }
  module.register_parameter("head", at::randn({512, 2}).mul_(0.04), /*is_buffer=*/false);
  for (const at::Tensor& parameter : module.parameters()) parameter.set_requires_grad(true);
  module.define("def forward(self, x: Tensor, label: Tensor) -> Tensor:\n" + layers +
                "    return torch.cross_entropy_loss(torch.mm(x, self.head), label)\n");
  module.save(path);
}

int train() {
  using namespace elixir;
  const std::string path = (std::filesystem::temp_directory_path() / "elixir-embed.pt").string();
  at::manual_seed(1);
  save_model(path);

  const capture::Model model = capture::Model::load(path);
  capture::Options options;
  options.target = *program::Target::parse("cpu");
  options.inputs = {*capture::InputSpec::parse("x:float32[32,512]"),
                    *capture::InputSpec::parse("label:int64[32]")};
  capture::Captured captured = capture::capture(model, options);
  const std::int64_t state_bytes = 16 * captured.program.parameter_count();

  search::Request request;
  request.gpu_memory_bytes = state_bytes / 4;
  request.clip_gradients = false;
  const search::Outcome outcome =
      search::search(captured.program, hardware::load_hardware("cpu"), request);
  if (const auto* none = std::get_if<search::Infeasible>(&outcome)) {
    std::cout << "nothing fits: " << none->shortfall_bytes << " bytes short\n";
    return 1;
  }
  const plan::Plan& plan = std::get<search::Found>(outcome).plan;
  std::cout << "state " << format_bytes(state_bytes) << ", device budget "
            << format_bytes(*request.gpu_memory_bytes) << ", plan: " << plan.strategy << ", "
            << plan.chunks.size() << " chunks, " << plan.cache.blocks << " blocks\n";

  runtime::Trainer trainer(
      captured, plan, {}, [&](const std::string& name) { return model.read(name); });
  for (int step = 1; step <= 30; ++step) {
    const at::Tensor x = at::randn({32, 512});
    const at::Tensor label = x.sum(1).gt(0).to(at::kLong);
    const runtime::PendingStep started = trainer.step({{x, label}}, /*learning_rate=*/1e-3);
    // Without a question to it, a step's updates run beside the next step.
    if (step == 1 || step % 10 == 0) {
      const runtime::StepReport report = started.report();
      std::printf("step %2d  loss %.4f  device peak %s, %lld chunks fetched\n",
                  step,
                  report.loss,
                  format_bytes(report.memory.peak_device_bytes).c_str(),
                  static_cast<long long>(report.traffic.fetches));
    }
  }
  std::filesystem::remove(path);
  return 0;
}

}  // namespace

int main() {
  try {
    return train();
  } catch (const elixir::Error& error) {
    std::cerr << elixir::code_text(error.info().code) << ": " << error.info().message << '\n';
    return elixir::exit_code_of(error.info().code);
  }
}
