// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares the errors of a fused arithmetic with those of eager LibTorch, for a whole model. Errors
// are those of the loss and of each gradient against fp64, root mean square over elements and
// batches. A ratio is fused over eager, ± its standard error over batches. gradient_errors.py
// exports models and makes the table of docs/measured/fusion.md.
//
// usage: gradient_errors MODEL.pt [flags]   (--help)
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "errors/compare.h"

namespace elixir::errors {
namespace {

nlohmann::json json_of(const SquaredErrors& errors) {
  const Ratio ratio = ratio_of(errors);
  return {{"name", errors.name},
          {"elements", errors.elements},
          {"rms", rms(errors, errors.exact)},
          {"eager_rms_error", rms(errors, errors.eager)},
          {"fused_rms_error", rms(errors, errors.fused)},
          {"ratio", ratio.value},
          {"ratio_standard_error", ratio.standard_error}};
}

nlohmann::json json_of(const Comparison& comparison, const Options& options) {
  nlohmann::json gradients = nlohmann::json::array();
  for (const SquaredErrors& errors : comparison.gradients) gradients.push_back(json_of(errors));
  return {{"device", options.device.str()},
          {"batches", options.batches},
          {"fused_losses", comparison.fused_losses},
          {"aligned_products", comparison.aligned_products},
          {"fused_groups", comparison.fused_groups},
          {"loss", json_of(comparison.loss)},
          {"all_gradients", json_of(all_gradients(comparison))},
          {"gradients", gradients}};
}

void print(const char* what, const SquaredErrors& errors) {
  const Ratio ratio = ratio_of(errors);
  fmt::print("{:<14} {:>10.3e} {:>12.3e} {:>12.3e} {:>8.4f} ± {:<7.4f} {}\n",
             what,
             rms(errors, errors.exact),
             rms(errors, errors.eager),
             rms(errors, errors.fused),
             ratio.value,
             ratio.standard_error,
             errors.name);
}

void print(const Comparison& comparison, const Options& options) {
  fmt::print("{}, {} batches: {} losses fused, {} products aligned\n",
             options.device.str(),
             options.batches,
             comparison.fused_losses,
             comparison.aligned_products);
  fmt::print(
      "{:<14} {:>10} {:>12} {:>12} {:>8}\n", "", "rms", "eager error", "fused error", "ratio");
  print("loss", comparison.loss);
  print("together", all_gradients(comparison));
  const auto worst = std::max_element(
      comparison.gradients.begin(), comparison.gradients.end(), [](const auto& a, const auto& b) {
        return ratio_of(a).value < ratio_of(b).value;
      });
  if (worst != comparison.gradients.end()) print("worst gradient", *worst);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Errors of a model's loss and gradients against fp64: eager LibTorch's, and those of "
      "a fused arithmetic.\nThe model is one of examples/export_hf.py, exported with --dropout 0.");
  std::string model, device = "cpu", arithmetic = "fused";
  Options options;
  int threads = 0;
  bool json = false, align_all = false;
  app.add_option("MODEL.pt", model)->required();
  app.add_option("--device", device, "cpu (default) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--arithmetic", arithmetic, "fused (default) or fused-elementwise")
      ->check(CLI::IsMember({"fused", "fused-elementwise"}));
  app.add_option("--batches", options.batches, "batches of random inputs (default 8)")
      ->check(CLI::PositiveNumber);
  app.add_option("--range", options.range, "integer inputs are below this (default 256)")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the inputs (default 1)");
  app.add_option("--threads", threads, "of the CPU (default: LibTorch's choice)");
  app.add_flag("--align-all", align_all, "align every product that can be, worth it or not");
  app.add_flag("--json", json, "one JSON document, with every parameter");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (threads > 0) at::set_num_threads(threads);
  options.device = c10::Device(device == "cuda" ? c10::kCUDA : c10::kCPU,
                               device == "cuda" ? c10::DeviceIndex{0} : c10::DeviceIndex{-1});
  options.arithmetic = *plan::kArithmetics.named(arithmetic);
  options.align = align_all ? Align::kEverything : Align::kWorthIt;
  const Comparison comparison = compare(model, options);
  if (json) {
    std::cout << json_of(comparison, options).dump(1) << '\n';
  } else {
    print(comparison, options);
  }
  return 0;
}

}  // namespace
}  // namespace elixir::errors

int main(int argc, char** argv) {
  try {
    return elixir::errors::run(argc, argv);
  } catch (const c10::Error& error) {
    std::cerr << "gradient_errors: " << error.what_without_backtrace() << '\n';
    return 4;
  } catch (const std::exception& error) {
    std::cerr << "gradient_errors: " << error.what() << '\n';
    return 4;
  }
}
