// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/inputs.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/archive/model_state.h"
#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

InputSpec* find_input(std::vector<InputSpec>& specs, const std::string& name) {
  const auto found = std::find_if(
      specs.begin(), specs.end(), [&](const InputSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

/// A limit above any memory, and below the sizes at which LibTorch's own arithmetic overflows.
void check_size(const InputSpec& spec) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
  std::int64_t bytes = program::element_bytes(spec.dtype);
  for (const std::int64_t size : spec.sizes) {
    if (size == 0) return;
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > kMostBytes) {
      throw Error(ErrorCode::kBadInputSpec,
                  "input '{}' of sizes [{}] is larger than any memory",
                  spec.name,
                  fmt::join(spec.sizes, ", "))
          .help("give the sizes you train on with --batch or --input");
    }
  }
}

/// The archive's shapes, replaced by those of the options where given.
std::vector<InputSpec> merged_specs(const Model& model, const Options& options) {
  std::vector<InputSpec> specs = model.traced_inputs().value_or(std::vector<InputSpec>{});
  const std::vector<std::string> names = model.input_names();
  for (const InputSpec& given : options.inputs) {
    if (InputSpec* known = find_input(specs, given.name)) {
      *known = given;
      continue;
    }
    const bool is_argument = std::find(names.begin(), names.end(), given.name) != names.end();
    const bool is_target = !options.loss.empty();
    if (!is_argument && !is_target) {
      std::vector<std::string> help{
          fmt::format("the model's inputs are {}", fmt::join(names, ", "))};
      const std::vector<std::string> close = nearest(given.name, names);
      if (!close.empty()) help.push_back("did you mean '" + close.front() + "'?");
      throw Error(ErrorCode::kBadInputSpec, "the model has no input '{}'", given.name).help(help);
    }
    specs.push_back(given);
  }
  if (options.batch) {
    const std::int64_t first = specs.empty() || specs[0].sizes.empty() ? -1 : specs[0].sizes[0];
    for (InputSpec& spec : specs) {
      if (!spec.sizes.empty() && spec.sizes[0] == first) spec.sizes[0] = *options.batch;
    }
  }
  return specs;
}

}  // namespace

StepInputs make_inputs(const Model& model,
                       const Options& options,
                       c10::Device device,
                       std::optional<at::ScalarType> floating) {
  std::vector<InputSpec> specs = merged_specs(model, options);
  StepInputs inputs;
  const auto make = [&](const InputSpec& spec) {
    check_size(spec);
    at::ScalarType dtype = scalar_type(spec.dtype);
    if (floating && at::isFloatingType(dtype)) dtype = *floating;
    const auto tensor_options = at::TensorOptions().dtype(dtype).device(device);
    at::Tensor tensor = device.is_meta()            ? at::empty(spec.sizes, tensor_options)
                        : at::isFloatingType(dtype) ? at::ones(spec.sizes, tensor_options)
                                                    : at::zeros(spec.sizes, tensor_options);
    inputs.names.push_back(spec.name);
    inputs.tensors.push_back(tensor);
    return tensor;
  };
  const auto& schema = model.module().get_method("forward").function().getSchema();
  for (std::size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (const InputSpec* spec = find_input(specs, argument.name())) {
      inputs.arguments.emplace_back(make(*spec));
    } else if (argument.default_value()) {
      inputs.arguments.push_back(*argument.default_value());
    } else if (argument.type()->kind() == c10::TypeKind::OptionalType) {
      inputs.arguments.emplace_back();
    } else {
      throw Error(ErrorCode::kBadInputSpec, "the shape of input '{}' is not known", argument.name())
          .help("add --input {}:int64[2,128] with the dtype and sizes you train on",
                argument.name());
    }
  }
  if (!options.loss.empty()) {
    const std::vector<std::string> names = model.input_names();
    for (const InputSpec& spec : specs) {
      if (std::find(names.begin(), names.end(), spec.name) == names.end()) make(spec);
    }
  }
  if (inputs.tensors.empty()) {
    throw Error(ErrorCode::kBadInputSpec, "the model takes no tensor inputs")
        .help("a training step needs at least one input");
  }
  return inputs;
}

}  // namespace elixir::capture
